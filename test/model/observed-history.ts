/** Records the calls of simulated processes to the log and the queues as steps of `model/history.qnt`, per run. */
import { type RunAddress, nodeKey } from '../../lib/engine/ids.ts';
import type { Commit } from '../../lib/engine/log/commit.ts';
import type { RunEvent } from '../../lib/engine/log/events.ts';
import type { HeadProjection, RunCreation } from '../../lib/engine/log/head.ts';
import type { Job } from '../../lib/ports/jobs.ts';
import type { PutResult } from '../../lib/ports/run-log.ts';
import type { Deps } from '../../lib/service/deps.ts';
import { overrideMethods } from '../service/override-methods.ts';

export class ObservedHistory {
  /** by run id: actions in the order in which they happened */
  readonly steps = new Map<string, string[]>();
  readonly #nonces = new Map<string, number>();
  #processes = 0;

  /** Records whether a put found its number free. */
  readonly landing = (world: Deps): Deps => {
    const landed = async (run: RunAddress, commit: Commit, put: Promise<PutResult>): Promise<PutResult> => {
      const result = await put;
      this.#saw(run, `${result.kind === 'stored' ? 'lands' : 'isRefused'}(${this.#commit(commit)})`);
      return result;
    };
    return {
      ...world,
      log: overrideMethods(world.log, {
        create: (run, ended) => landed(run.address, run.commit, world.log.create(run, ended)),
        put: (run, commit, expiresAt, ended) => landed(run, commit, world.log.put(run, commit, expiresAt, ended)),
      }),
    };
  };

  /** Records the calls of one process and their results. */
  readonly process = (by: string, reached: Deps): Deps => {
    const me = this.#another();
    /** the runs with a put under way */
    const asking = new Set<string>();
    const asked = async (run: RunAddress, commit: Commit, put: () => Promise<PutResult>): Promise<PutResult> => {
      this.#saw(run, `puts(${me}, "${by}", ${this.#commit(commit)})`);
      asking.add(run.runId);
      const result = await put().finally(() => asking.delete(run.runId));
      this.#saw(run, `receivesResult(${me}, ${this.#nonce(result.kind === 'stored' ? commit.nonce : result.nonce)})`);
      return result;
    };
    const { log, jobs, timers, index, notices } = reached;
    const sends = (job: Job): void => {
      if (!('nodeId' in job) || !('commit' in job)) return;
      this.#saw(job.run, `sends(${me}, "${nodeKey(job)}", ${job.attempt}, ${job.commit})`);
    };
    return {
      ...reached,
      log: overrideMethods(log, {
        create: (run: RunCreation, ended?: HeadProjection) => asked(run.address, run.commit, () => log.create(run, ended)),
        put: (run, commit, expiresAt, ended) => asked(run, commit, () => log.put(run, commit, expiresAt, ended)),
        commitsAfter: async (run, from, through) => {
          const found = await log.commitsAfter(run, from, through);
          const reader = by === 'sweep' && asking.has(run.runId) ? this.#another() : me;
          this.#saw(run, `reads(${reader}, ${from}, Set(${found.map(({ number }) => number).join(', ')}))`);
          return found;
        },
        project: (run, projection) => {
          const { asOf } = projection;
          this.#saw(run, `projects(${me}, "${endOf(projection)}", ${asOf})`);
          return log.project(run, projection);
        },
      }),
      jobs: overrideMethods(jobs, {
        send: (sent) => {
          for (const job of sent) sends(job);
          return jobs.send(sent);
        },
        sendDelayed: async (job, delay) => {
          sends(job);
          await jobs.sendDelayed(job, delay);
        },
        sendResult: (result) => {
          // Like the job of a called run, the message of its end is not an attempt.
          if (!('childRunId' in result))
            this.#saw(result.run, `sends(${me}, "${nodeKey(result)}", ${result.attempt}, ${result.commit})`);
          return jobs.sendResult(result);
        },
      }),
      timers: overrideMethods(timers, {
        set: (timer) => {
          sends(timer.job);
          return timers.set(timer);
        },
      }),
      index: overrideMethods(index, {
        markDue: async (entry) => {
          await index.markDue(entry);
          this.#saw(entry.run, `marksDue(${me})`);
        },
        markDueTogether: async (entry) => {
          await index.markDueTogether(entry);
          for (const runId of entry.runIds) this.#saw({ ...entry.scope, runId }, `marksDue(${me})`);
        },
      }),
      notices: overrideMethods(notices, {
        runStatusChanged: async (notice) => {
          await notices.runStatusChanged(notice);
          if (isEnding(notice.status)) this.#saw(notice.run, `notifies(${me}, "${endings[notice.status]}")`);
        },
      }),
    };
  };

  /**
   * A sweep checks several runs at once, and two checks may match signals with the same third run. While one of them puts a commit, the
   * other one reads as a process of its own.
   */
  #another(): number {
    this.#processes += 1;
    return this.#processes;
  }

  #saw({ runId }: RunAddress, step: string): void {
    this.steps.set(runId, [...(this.steps.get(runId) ?? []), step]);
  }

  #commit({ number, nonce, by, events }: Commit): string {
    const list = events.map(eventOf).join(', ');
    return `{ number: ${number}, nonce: ${this.#nonce(nonce)}, by: "${by}", at: 0, events: [${list}] }`;
  }

  #nonce(nonce: string): number {
    const known = this.#nonces.get(nonce) ?? this.#nonces.size + 1;
    this.#nonces.set(nonce, known);
    return known;
  }
}

/** The model has one way to fail. */
const endings = { completed: 'RUN_COMPLETED', failed: 'RUN_FAILED', cancelled: 'RUN_CANCELLED' } as const;

const isEnding = (status: string): status is keyof typeof endings => status in endings;
const endOf = ({ status }: HeadProjection): string => (isEnding(status) ? endings[status] : '');

function eventOf(event: RunEvent): string {
  const is = event.type === 'RUN_TIMED_OUT' ? 'RUN_FAILED' : event.type;
  const node = 'nodeId' in event ? nodeKey(event) : '';
  return `{ is: "${is}", node: "${node}", attempt: ${'attempt' in event ? event.attempt : 0}, what: "" }`;
}
