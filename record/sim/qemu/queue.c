/* SPDX-License-Identifier: MIT */
#include "record/sim/qemu/queue.h"

#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/mem.h"

enum {
    BATCHES = 8, /* of which one is being filled */
    BATCHES_SAMPLED =
        64, /* a warming and a window are in it while the program runs through a gap */
    BATCHES_SEVERAL = 64, /* models that share few CPUs take turns, and lose their caches each */
    BEHIND = 3,         /* batches that a model has not done: it has more to do than the program */
    BATCHES_ALONE = 16, /* some 100,000 instructions; a thread is made for those that go on */
    BATCHES_A_TURN = 8, /* of several models: to wait and be woken for each would take too long */
    STACK_BYTES = 1 << 18, /* the model's functions are shallow and its tables on the heap */
};

/* What is done to each batch before models run it, in this order. */
enum { PREDICT, WARM, STEPS };

struct model {
    struct td_queue *queue;
    struct td_sim *sim;
    bool threaded;        /* has a thread; of the program's thread only */
    pthread_mutex_t lock; /* held while the model runs or is read */
    uint64_t done;        /* batches; under the queue's lock */
    /* Room for a batch that it prepares for itself; NULL: it takes what the first has prepared. */
    uint64_t *words;
    struct td_warmed *warmed; /* of that; NULL: nothing is left out */
};

struct td_queue {
    struct model *models;
    unsigned model_count;
    bool started; /* threads were made, as far as that can be; of the program's thread only */
    pthread_mutex_t preparing; /* of `steps` */
    pthread_cond_t one_more;   /* batch has got one of them */
    struct step {
        uint64_t done; /* batches; also read without the lock */
        bool at_it;    /* a thread does it to the next one */
    } steps[STEPS];
    struct td_warmed **warmed; /* by batch; NULL: nothing is left out */
    pthread_mutex_t lock;      /* of what follows */
    pthread_cond_t filled, emptied;
    uint64_t put;     /* batches */
    unsigned idle;    /* models' threads that wait for `filled` */
    unsigned waiters; /* for `emptied` */
    uint64_t wanted;  /* the least that one of them waits for all models to have done */
    unsigned count;   /* of batches */
    struct td_queue_batch batches[];
};

static bool has_one_cpu(void)
{
    cpu_set_t set;

    return sched_getaffinity(0, sizeof(set), &set) == 0 && CPU_COUNT(&set) == 1;
}

static void make_model(struct td_queue *queue, struct model *model,
                       const struct td_queue_model *given, bool sampled)
{
    *model = (struct model){.queue = queue, .sim = given->sim};
    pthread_mutex_init(&model->lock, NULL);
    if (given->prepares) {
        model->words = td_xalloc(sizeof(queue->batches[0].words));
        model->warmed = sampled ? td_warmed_new(1) : NULL;
    }
}

static void make_warmed(struct td_queue *queue)
{
    unsigned takers = 0;

    for (unsigned i = 0; i < queue->model_count; i++)
        takers += !queue->models[i].words;
    queue->warmed = td_xcalloc(queue->count, sizeof(*queue->warmed));
    for (unsigned i = 0; i < queue->count; i++)
        queue->warmed[i] = td_warmed_new(takers);
}

struct td_queue *td_queue_new(const struct td_queue_model *models, unsigned count, bool sampled)
{
    const unsigned batches = count > 1 ? BATCHES_SEVERAL : sampled ? BATCHES_SAMPLED : BATCHES;
    struct td_queue *queue = td_xcalloc(1, sizeof(*queue) + batches * sizeof(*queue->batches));

    assert(count > 0);
    queue->models = td_xcalloc(count, sizeof(*queue->models));
    for (unsigned i = 0; i < count; i++)
        make_model(queue, &queue->models[i], &models[i], sampled);
    queue->model_count = count;
    queue->count = batches;
    if (sampled)
        make_warmed(queue);
    queue->started = has_one_cpu();
    pthread_mutex_init(&queue->preparing, NULL);
    pthread_cond_init(&queue->one_more, NULL);
    pthread_mutex_init(&queue->lock, NULL);
    pthread_cond_init(&queue->filled, NULL);
    pthread_cond_init(&queue->emptied, NULL);
    return queue;
}

struct td_queue_batch *td_queue_batch(struct td_queue *queue)
{
    return &queue->batches[queue->put % queue->count];
}

/* Of the `index`-th batch of all. */
static struct td_warmed *warmed_of(const struct td_queue *queue, uint64_t index)
{
    return queue->warmed ? queue->warmed[index % queue->count] : NULL;
}

/* With `preparing` held, which is let go meanwhile. */
static void do_step(struct td_queue *queue, unsigned s)
{
    struct step *step = &queue->steps[s];
    const uint64_t index = step->done;
    struct td_queue_batch *batch = &queue->batches[index % queue->count];
    struct td_sim *sim = queue->models[0].sim;

    step->at_it = true;
    pthread_mutex_unlock(&queue->preparing);
    if (s == PREDICT)
        td_sim_predict(sim, batch->words, batch->used, batch->mode);
    else
        td_sim_warm(sim, batch->words, batch->used, batch->mode, warmed_of(queue, index));
    pthread_mutex_lock(&queue->preparing);
    step->at_it = false;
    __atomic_store_n(&step->done, index + 1, __ATOMIC_RELEASE);
    pthread_cond_broadcast(&queue->one_more);
}

/* With `preparing` held: does one step of the first `count` batches that nobody is at, the last
 * first, and no further than `last`. False when there is none. */
static bool do_some_step(struct td_queue *queue, uint64_t count, unsigned last)
{
    for (unsigned s = last + 1; s-- > 0;) {
        const uint64_t ready = s > 0 ? queue->steps[s - 1].done : count;

        if (!queue->steps[s].at_it && queue->steps[s].done < (ready < count ? ready : count)) {
            do_step(queue, s);
            return true;
        }
    }
    return false;
}

/* Until all is done to the first `count` batches, by this thread as far as no other is at it. */
static void prepare(struct td_queue *queue, uint64_t count)
{
    const unsigned last = queue->warmed ? WARM : PREDICT;
    const uint64_t *done = &queue->steps[last].done;

    if (__atomic_load_n(done, __ATOMIC_ACQUIRE) >= count)
        return;
    pthread_mutex_lock(&queue->preparing);
    while (*done < count) {
        if (!do_some_step(queue, count, last))
            pthread_cond_wait(&queue->one_more, &queue->preparing);
    }
    pthread_mutex_unlock(&queue->preparing);
}

/* The program's thread, when a model is so many batches behind, has less to do: it predicts as long
 * as nobody is at it. Who warms stays the same: the tables would go from one CPU's caches to the
 * other's. */
static void help(struct td_queue *queue, uint64_t count, uint64_t behind)
{
    if (behind < BEHIND)
        return;
    pthread_mutex_lock(&queue->preparing);
    while (do_some_step(queue, count, PREDICT)) {
    }
    pthread_mutex_unlock(&queue->preparing);
}

/* The `index`-th batch of all. */
static void run(struct model *model, uint64_t index)
{
    struct td_queue *queue = model->queue;
    struct td_queue_batch *batch = &queue->batches[index % queue->count];
    struct td_warmed *warmed = warmed_of(queue, index);
    uint64_t *words = batch->words;

    prepare(queue, index + 1);
    pthread_mutex_lock(&model->lock);
    if (model->words) {
        words = model->words;
        warmed = model->warmed;
        memcpy(words, batch->words, batch->used * sizeof(*words));
        td_sim_predict(model->sim, words, batch->used, batch->mode);
        if (warmed)
            td_sim_warm(model->sim, words, batch->used, batch->mode, warmed);
    }
    td_sim_run(model->sim, words, batch->used, batch->mode, warmed);
    td_sim_skipped(model->sim, batch->skipped);
    pthread_mutex_unlock(&model->lock);
}

/* With the lock held: so many batches are behind all models. */
static uint64_t all_done(const struct td_queue *queue)
{
    uint64_t least = queue->models[0].done;

    for (unsigned i = 1; i < queue->model_count; i++)
        least = queue->models[i].done < least ? queue->models[i].done : least;
    return least;
}

/* With the lock held: whether it is worth it to go on with the model. */
static bool has_turn(const struct td_queue *queue, const struct model *model)
{
    const uint64_t left = queue->put - model->done;

    return left >= (queue->model_count > 1 ? BATCHES_A_TURN : 1) ||
           (left > 0 && queue->waiters > 0);
}

/* Several models together weigh for the kernel what the program's thread weighs (each step of nice
 * is a factor of 1.25, sched(7)): on few CPUs it would else have so little time that they wait for
 * it with a CPU idle. */
static void step_back(unsigned models)
{
    int nice = 0;

    for (unsigned percent = 100 * models; percent > 110; percent = percent * 4 / 5)
        nice++;
    if (nice > 0)
        setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), nice);
}

static void *run_model(void *ctx)
{
    struct model *model = ctx;
    struct td_queue *queue = model->queue;

    step_back(queue->model_count);
    pthread_mutex_lock(&queue->lock);
    for (;;) {
        while (!has_turn(queue, model)) {
            queue->idle++;
            pthread_cond_wait(&queue->filled, &queue->lock);
            queue->idle--;
        }
        pthread_mutex_unlock(&queue->lock);
        run(model, model->done);
        pthread_mutex_lock(&queue->lock);
        model->done++;
        if (queue->waiters > 0 && all_done(queue) >= queue->wanted)
            pthread_cond_broadcast(&queue->emptied);
    }
    return NULL;
}

/* No signal of the program's is for a model's thread. */
static bool start_thread(struct model *model)
{
    pthread_attr_t attr;
    sigset_t all, before;
    pthread_t thread;

    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attr, STACK_BYTES);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const bool started = pthread_create(&thread, &attr, run_model, model) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
    return started;
}

/* With the lock held: until all models have done `wanted`. */
static void wait_until(struct td_queue *queue, uint64_t wanted)
{
    queue->waiters++;
    pthread_cond_broadcast(&queue->filled); /* models that wait for more do not any longer */
    while (all_done(queue) < wanted) {
        if (queue->waiters == 1)
            queue->wanted = wanted;
        pthread_cond_wait(&queue->emptied, &queue->lock);
    }
    queue->waiters--;
    queue->wanted = 0; /* others say again what they wait for */
}

void td_queue_start(struct td_queue *queue)
{
    for (unsigned i = 0; i < queue->model_count && !queue->started; i++)
        queue->models[i].threaded = start_thread(&queue->models[i]);
    queue->started = true;
}

void td_queue_put(struct td_queue *queue)
{
    const uint64_t index = queue->put;

    if (index >= BATCHES_ALONE)
        td_queue_start(queue);
    for (unsigned i = 0; i < queue->model_count; i++) {
        if (!queue->models[i].threaded)
            run(&queue->models[i], index);
    }
    pthread_mutex_lock(&queue->lock);
    queue->put++;
    for (unsigned i = 0; i < queue->model_count; i++)
        queue->models[i].done += !queue->models[i].threaded;
    const uint64_t behind = queue->put - all_done(queue);
    if (queue->idle > 0 && (queue->model_count == 1 || queue->put % BATCHES_A_TURN == 0))
        pthread_cond_broadcast(&queue->filled);
    pthread_mutex_unlock(&queue->lock);
    help(queue, index + 1, behind);
    pthread_mutex_lock(&queue->lock);
    /* Who waits for room waits for half of it: fewer turns. */
    if (queue->put - all_done(queue) >= queue->count - 1)
        wait_until(queue, queue->put - queue->count / 2);
    pthread_mutex_unlock(&queue->lock);
    struct td_queue_batch *batch = td_queue_batch(queue);
    batch->used = 0;
    batch->skipped = 0;
}

void td_queue_drain(struct td_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    wait_until(queue, queue->put);
    pthread_mutex_unlock(&queue->lock);
}

struct td_sim *td_queue_exchange(struct td_queue *queue, unsigned index, struct td_sim *sim)
{
    struct model *model = &queue->models[index];

    td_queue_drain(queue);
    pthread_mutex_lock(&model->lock);
    struct td_sim *former = model->sim;
    model->sim = sim;
    pthread_mutex_unlock(&model->lock);
    return former;
}

const struct td_sim *td_queue_lock(struct td_queue *queue)
{
    for (unsigned i = 0; i < queue->model_count; i++)
        pthread_mutex_lock(&queue->models[i].lock);
    return queue->models[0].sim;
}

struct td_sim *td_queue_locked(const struct td_queue *queue, unsigned index)
{
    return queue->models[index].sim;
}

void td_queue_unlock(struct td_queue *queue)
{
    for (unsigned i = 0; i < queue->model_count; i++)
        pthread_mutex_unlock(&queue->models[i].lock);
}
