/** A client that calls the HTTP functions directly, on in-memory ports, with a worker that the test runs. */
import type { Readable } from 'node:stream';
import { StepwellClient, type Fetch } from '../../lib/client/index.ts';
import { compile } from '../../lib/engine/graph/compile.ts';
import { after, days, durationMs, earliest, minutes } from '../../lib/engine/time.ts';
import { evaluatePure, termsOf } from '../../lib/nodes/catalogue.ts';
import { createAttemptRunner } from '../../lib/nodes/attempt-runner.ts';
import { type RunnerOptions, createRunners } from '../../lib/nodes/runners.ts';
import { Plans } from '../../lib/service/commit/plans.ts';
import { runExecutions } from '../../lib/service/kinds/run-executions.ts';
import { runKinds } from '../../lib/service/kinds/run-kinds.ts';
import { runNode } from '../../lib/service/kinds/graph/run-node.ts';
import { reconcileChild } from '../../lib/service/execution/reconcile-child.ts';
import { wakeNode } from '../../lib/service/execution/wake-node.ts';
import { FoldCache } from '../../lib/service/run-log/fold-cache.ts';
import { type Http, http } from '../functions/http.ts';
import type { JobHandler } from '../../lib/service/worker.ts';

export const fetchOf =
  ({ call }: Pick<Http, 'call'>): Fetch =>
  async (url, { method = 'GET', headers, body }) => {
    const { pathname, searchParams } = new URL(url);
    const query = Object.fromEntries(searchParams);
    const answer = await call(method, pathname, {
      headers: Object.fromEntries(new Headers(headers)),
      ...(searchParams.size === 0 ? {} : { query }),
      ...(typeof body === 'string' ? { text: body } : {}),
    });
    const init = { status: answer.status, headers: { ...answer.headers } };
    if (answer.stream !== undefined) return new Response(bytesOf(answer.stream), init);
    return new Response(answer.status === 204 ? null : JSON.stringify(answer.body), init);
  };

const bytesOf = (stream: Readable): ReadableStream<Uint8Array> => {
  const pieces: AsyncIterator<unknown> = stream[Symbol.asyncIterator]();
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await pieces.next();
      if (done === true) controller.close();
      else controller.enqueue(new TextEncoder().encode(String(value)));
    },
    cancel: () => void stream.destroy(),
  });
};

export interface InProcessApi {
  readonly api: Http;
  readonly clientOf: (apiKey: string) => StepwellClient;
  /** Waits for the promise; processes jobs, and without jobs advances the time to the next due timer. */
  readonly runToEnd: <Value>(work: Promise<Value>) => Promise<Value>;
}

/** @param runners options of the node runners, such as the addresses that requests may reach */
export const createInProcessApi = (runners: RunnerOptions = {}): InProcessApi => {
  const api = http();
  const { world } = api;
  const worker: JobHandler = {
    deps: { ...world, settings: { retentionMs: days(30), idempotencyMs: days(1), requiresHttps: false } },
    plans: new Plans({ compile: (version) => compile(version, termsOf), evaluate: evaluatePure }),
    kinds: runKinds,
    executions: runExecutions,
    by: 'worker',
    foldCache: new FoldCache(),
    runAttempt: createAttemptRunner(createRunners(runners)),
  };
  const processJobs = async (): Promise<void> => {
    const jobs = [...world.jobs.takeSent(), ...world.jobs.takeDue(), ...world.timers.takeDue().map(({ job }) => job)];
    for (const job of jobs) {
      const delivery = { isRedelivered: false, mustEndAt: after(world.clock.now(), minutes(15)) };
      if (job.kind === 'node') await runNode(worker, job, delivery);
      else if (job.kind === 'wake') await wakeNode(worker, job, delivery);
      else if (job.kind === 'child') await reconcileChild(worker, job);
    }
  };
  return {
    api,
    clientOf: (apiKey) =>
      new StepwellClient({
        baseUrl: 'https://api.example.com',
        apiKey,
        fetchImpl: fetchOf(api),
        sleep: (ms, signal) => world.clock.sleep(durationMs(ms), signal),
      }),
    runToEnd: async (work) => {
      let isDone = false;
      const done = (): void => void (isDone = true);
      work.then(done, done);
      for (;;) {
        for (let tick = 0; tick < 20 && !isDone; tick += 1) await new Promise((resolve) => setImmediate(resolve));
        if (isDone) return work;
        await processJobs();
        const sleepers = world.clock.nextWakeAt();
        const due = [...world.jobs.delayed.map(({ dueAt }) => dueAt), ...world.timers.pending().map(({ at }) => at)];
        const next = earliest([...due, ...(sleepers === undefined ? [] : [sleepers])]);
        if (next === undefined) throw new Error('it waits for nothing');
        world.clock.set(next);
      }
    },
  };
};
