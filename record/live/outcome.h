/* SPDX-License-Identifier: MIT */
/* How it went to take an image. */
#ifndef TD_RECORD_LIVE_OUTCOME_H
#define TD_RECORD_LIVE_OUTCOME_H

/* TD_LIVE_TAKEN: it is there. The others are why not; each stands for itself in counts of them. */
#define TD_LIVE_OUTCOMES(X)                                                           \
    X(TAKEN, "taken")                                                                 \
    X(GONE, "the thread has ended, or became another program")                        \
    X(IDLE, "no thread was running")                                                  \
    X(TRACED, "a debugger holds the process")                                         \
    X(TRACER, "the process is a debugger, which would see the clone")                 \
    X(DENIED, "the kernel does not let this user stop it")                            \
    X(STOPPED, "the process is stopped by job control")                               \
    X(IN_CALL, "the thread was in a system call that would be interrupted")           \
    X(SEQUENCE, "the thread was in a restartable sequence")                           \
    X(SIGNAL, "a signal came at the same time")                                       \
    X(FOREIGN, "the process runs 32-bit code")                                        \
    X(CONFINED, "a seccomp filter confines the process, and it is too large to copy") \
    X(APART, "too much of its memory is not passed on to clones (MADV_DONTFORK)")     \
    X(LIMIT, "a limit of processes or memory allows no clone of it")                  \
    X(MEMORY, "too little memory is free")                                            \
    X(TOO_LARGE, "its image would be too large")                                      \
    X(NO_ROOM, "there is no room left for images")                                    \
    X(FAILED, "the kernel refused")

enum td_live_outcome {
#define TD_LIVE_OUTCOME(name, text) TD_LIVE_##name,
    TD_LIVE_OUTCOMES(TD_LIVE_OUTCOME)
#undef TD_LIVE_OUTCOME
        TD_LIVE_OUTCOME_COUNT,
};

/* As above; static. */
const char *td_live_outcome_text(enum td_live_outcome outcome);

#endif
