/* SPDX-License-Identifier: MIT */
/*
 * A program that waits, in known places for known times: a thread for a mutex that another holds
 * while it sleeps, one that sleeps, one for a pipe. usage: waits SECONDS. It tells, a line each,
 * how long each waited: "FUNCTION SECONDS".
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int pipes[2];
static double seconds;

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

NOINLINE static void sleep_for(double s)
{
    const struct timespec t = {.tv_sec = (time_t)s,
                               .tv_nsec = (long)((s - (double)(time_t)s) * 1e9)};

    nanosleep(&t, NULL);
    __asm__ volatile("" ::: "memory");
}

NOINLINE static void contended(void)
{
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    __asm__ volatile("" ::: "memory");
}

NOINLINE static void serve(void)
{
    char byte;

    if (read(pipes[0], &byte, 1) != 1)
        exit(1);
    __asm__ volatile("" ::: "memory");
}

static void *wait_for_mutex(void *unused)
{
    const double from = now();

    (void)unused;
    contended();
    printf("contended %.3f\n", now() - from);
    return NULL;
}

static void *wait_for_pipe(void *unused)
{
    const double from = now();

    (void)unused;
    serve();
    printf("serve %.3f\n", now() - from);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t lock_thread, pipe_thread;

    seconds = argc > 1 ? atof(argv[1]) : 0.4;
    if (pipe(pipes) != 0)
        return 1;
    pthread_mutex_lock(&mutex);
    pthread_create(&lock_thread, NULL, wait_for_mutex, NULL);
    pthread_create(&pipe_thread, NULL, wait_for_pipe, NULL);
    const double from = now();
    sleep_for(seconds);
    printf("sleep_for %.3f\n", now() - from);
    pthread_mutex_unlock(&mutex);
    pthread_join(lock_thread, NULL);
    const double again = now();
    sleep_for(seconds / 2);
    printf("sleep_for %.3f\n", now() - again);
    if (write(pipes[1], "x", 1) != 1)
        return 1;
    pthread_join(pipe_thread, NULL);
    return 0;
}
