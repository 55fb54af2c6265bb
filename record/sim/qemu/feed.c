/* SPDX-License-Identifier: MIT */
#include "record/sim/qemu/feed.h"

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

struct td_feed {
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
    struct td_feed_batch batches[];
};

static bool has_one_cpu(void)
{
    cpu_set_t set;

    return sched_getaffinity(0, sizeof(set), &set) == 0 && CPU_COUNT(&set) == 1;
}

struct td_feed *td_feed_new(struct td_sim *sim, bool ahead)
{
    const unsigned count = ahead ? BATCHES : BATCHES_SAMPLED;
    struct td_feed *feed = td_xcalloc(1, sizeof(*feed) + count * sizeof(*feed->batches));

    feed->sim = sim;
    feed->count = count;
    feed->ahead = ahead;
    feed->alone = has_one_cpu();
    pthread_mutex_init(&feed->model, NULL);
    pthread_mutex_init(&feed->lock, NULL);
    pthread_cond_init(&feed->filled, NULL);
    pthread_cond_init(&feed->emptied, NULL);
    return feed;
}

struct td_feed_batch *td_feed_batch(struct td_feed *feed)
{
    return &feed->batches[feed->put % feed->count];
}

static void predict(struct td_feed *feed, struct td_feed_batch *batch)
{
    td_sim_predict(feed->sim, batch->words, batch->used, batch->mode);
}

static void run(struct td_feed *feed, struct td_feed_batch *batch)
{
    pthread_mutex_lock(&feed->model);
    if (!feed->ahead)
        predict(feed, batch);
    td_sim_run(feed->sim, batch->words, batch->used, batch->mode);
    td_sim_skipped(feed->sim, batch->skipped);
    pthread_mutex_unlock(&feed->model);
}

static void *run_model(void *ctx)
{
    struct td_feed *feed = ctx;

    pthread_mutex_lock(&feed->lock);
    for (;;) {
        while (feed->done == feed->put) {
            feed->idle = true;
            pthread_cond_wait(&feed->filled, &feed->lock);
        }
        feed->idle = false;
        pthread_mutex_unlock(&feed->lock);
        run(feed, &feed->batches[feed->done % feed->count]);
        pthread_mutex_lock(&feed->lock);
        feed->done++;
        if (feed->waiters > 0 && feed->done >= feed->wanted)
            pthread_cond_broadcast(&feed->emptied);
    }
    return NULL;
}

/* No signal of the program's is for the model's thread. */
static bool start_thread(struct td_feed *feed)
{
    pthread_attr_t attr;
    sigset_t all, before;
    pthread_t thread;

    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attr, STACK_BYTES);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const bool started = pthread_create(&thread, &attr, run_model, feed) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
    return started;
}

/* With the lock held: until `done` is `wanted`. */
static void wait_until(struct td_feed *feed, uint64_t wanted)
{
    feed->waiters++;
    while (feed->done < wanted) {
        if (feed->waiters == 1)
            feed->wanted = wanted;
        pthread_cond_wait(&feed->emptied, &feed->lock);
    }
    feed->waiters--;
    feed->wanted = 0; /* others say again what they wait for */
}

void td_feed_put(struct td_feed *feed)
{
    struct td_feed_batch *batch = td_feed_batch(feed);

    if (feed->ahead)
        predict(feed, batch);
    if (!feed->threaded && !feed->alone && feed->put >= BATCHES_ALONE) {
        feed->threaded = start_thread(feed);
        feed->alone = !feed->threaded;
    }
    if (!feed->threaded)
        run(feed, batch);
    pthread_mutex_lock(&feed->lock);
    feed->put++;
    if (!feed->threaded)
        feed->done++;
    else if (feed->idle)
        pthread_cond_signal(&feed->filled);
    /* Who waits for room waits for half of it: fewer turns. */
    if (feed->put - feed->done >= feed->count - 1)
        wait_until(feed, feed->put - feed->count / 2);
    pthread_mutex_unlock(&feed->lock);
    batch = td_feed_batch(feed);
    batch->used = 0;
    batch->skipped = 0;
}

void td_feed_drain(struct td_feed *feed)
{
    pthread_mutex_lock(&feed->lock);
    wait_until(feed, feed->put);
    pthread_mutex_unlock(&feed->lock);
}

struct td_sim *td_feed_exchange(struct td_feed *feed, struct td_sim *sim)
{
    td_feed_drain(feed);
    pthread_mutex_lock(&feed->model);
    struct td_sim *former = feed->sim;
    feed->sim = sim;
    pthread_mutex_unlock(&feed->model);
    return former;
}

const struct td_sim *td_feed_lock(struct td_feed *feed)
{
    pthread_mutex_lock(&feed->model);
    return feed->sim;
}

void td_feed_unlock(struct td_feed *feed)
{
    pthread_mutex_unlock(&feed->model);
}
