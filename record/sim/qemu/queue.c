/* SPDX-License-Identifier: MIT */
#include "record/sim/qemu/queue.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include "base/mem.h"

enum {
    BATCHES = 8, /* of which one is being filled */
    BATCHES_SAMPLED =
        64,             /* a warming and a window are in it while the program runs through a gap */
    BATCHES_ALONE = 16, /* some 100,000 instructions; a thread is made for those that go on */
    STACK_BYTES = 1 << 18, /* the model's functions are shallow and its tables on the heap */
};

struct td_queue {
    struct td_sim *sim;
    bool ahead;    /* predicted by the program's thread: it has less to do than the model's */
    bool alone;    /* there shall be no other thread */
    bool threaded; /* the model has a thread; of the program's thread only */
    pthread_mutex_t model; /* held while the model runs or is read */
    pthread_mutex_t lock;  /* of what follows */
    pthread_cond_t filled, emptied;
    uint64_t put, done; /* batches */
    bool idle;          /* the model's thread waits for `filled` */
    unsigned waiters;   /* for `emptied` */
    uint64_t wanted;    /* the least `done` that one of them waits for */
    unsigned count;     /* of batches */
    struct td_queue_batch batches[];
};

static bool has_one_cpu(void)
{
    cpu_set_t set;

    return sched_getaffinity(0, sizeof(set), &set) == 0 && CPU_COUNT(&set) == 1;
}

struct td_queue *td_queue_new(struct td_sim *sim, bool ahead)
{
    const unsigned count = ahead ? BATCHES : BATCHES_SAMPLED;
    struct td_queue *queue = td_xcalloc(1, sizeof(*queue) + count * sizeof(*queue->batches));

    queue->sim = sim;
    queue->count = count;
    queue->ahead = ahead;
    queue->alone = has_one_cpu();
    pthread_mutex_init(&queue->model, NULL);
    pthread_mutex_init(&queue->lock, NULL);
    pthread_cond_init(&queue->filled, NULL);
    pthread_cond_init(&queue->emptied, NULL);
    return queue;
}

struct td_queue_batch *td_queue_batch(struct td_queue *queue)
{
    return &queue->batches[queue->put % queue->count];
}

static void predict(struct td_queue *queue, struct td_queue_batch *batch)
{
    td_sim_predict(queue->sim, batch->words, batch->used, batch->mode);
}

static void run(struct td_queue *queue, struct td_queue_batch *batch)
{
    pthread_mutex_lock(&queue->model);
    if (!queue->ahead)
        predict(queue, batch);
    td_sim_run(queue->sim, batch->words, batch->used, batch->mode);
    td_sim_skipped(queue->sim, batch->skipped);
    pthread_mutex_unlock(&queue->model);
}

static void *run_model(void *ctx)
{
    struct td_queue *queue = ctx;

    pthread_mutex_lock(&queue->lock);
    for (;;) {
        while (queue->done == queue->put) {
            queue->idle = true;
            pthread_cond_wait(&queue->filled, &queue->lock);
        }
        queue->idle = false;
        pthread_mutex_unlock(&queue->lock);
        run(queue, &queue->batches[queue->done % queue->count]);
        pthread_mutex_lock(&queue->lock);
        queue->done++;
        if (queue->waiters > 0 && queue->done >= queue->wanted)
            pthread_cond_broadcast(&queue->emptied);
    }
    return NULL;
}

/* No signal of the program's is for the model's thread. */
static bool start_thread(struct td_queue *queue)
{
    pthread_attr_t attr;
    sigset_t all, before;
    pthread_t thread;

    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attr, STACK_BYTES);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const bool started = pthread_create(&thread, &attr, run_model, queue) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
    return started;
}

/* With the lock held: until `done` is `wanted`. */
static void wait_until(struct td_queue *queue, uint64_t wanted)
{
    queue->waiters++;
    while (queue->done < wanted) {
        if (queue->waiters == 1)
            queue->wanted = wanted;
        pthread_cond_wait(&queue->emptied, &queue->lock);
    }
    queue->waiters--;
    queue->wanted = 0; /* others say again what they wait for */
}

void td_queue_start(struct td_queue *queue)
{
    if (queue->threaded || queue->alone)
        return;
    queue->threaded = start_thread(queue);
    queue->alone = !queue->threaded;
}

void td_queue_put(struct td_queue *queue)
{
    struct td_queue_batch *batch = td_queue_batch(queue);

    if (queue->ahead)
        predict(queue, batch);
    if (queue->put >= BATCHES_ALONE)
        td_queue_start(queue);
    if (!queue->threaded)
        run(queue, batch);
    pthread_mutex_lock(&queue->lock);
    queue->put++;
    if (!queue->threaded)
        queue->done++;
    else if (queue->idle)
        pthread_cond_signal(&queue->filled);
    /* Who waits for room waits for half of it: fewer turns. */
    if (queue->put - queue->done >= queue->count - 1)
        wait_until(queue, queue->put - queue->count / 2);
    pthread_mutex_unlock(&queue->lock);
    batch = td_queue_batch(queue);
    batch->used = 0;
    batch->skipped = 0;
}

void td_queue_drain(struct td_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    wait_until(queue, queue->put);
    pthread_mutex_unlock(&queue->lock);
}

struct td_sim *td_queue_exchange(struct td_queue *queue, struct td_sim *sim)
{
    td_queue_drain(queue);
    pthread_mutex_lock(&queue->model);
    struct td_sim *former = queue->sim;
    queue->sim = sim;
    pthread_mutex_unlock(&queue->model);
    return former;
}

const struct td_sim *td_queue_lock(struct td_queue *queue)
{
    pthread_mutex_lock(&queue->model);
    return queue->sim;
}

struct td_sim *td_queue_locked(const struct td_queue *queue)
{
    return queue->sim;
}

void td_queue_unlock(struct td_queue *queue)
{
    pthread_mutex_unlock(&queue->model);
}
