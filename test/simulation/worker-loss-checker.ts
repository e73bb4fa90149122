/**
 * Checks the attempts that end as lost. Workers must have crashed on them or paused as often as the rule requires. An attempt
 * that kills its workers ends within its limit. A crash storm of some minutes fails no attempt. The record of a node has only the losses
 * of its own deliveries.
 */
import { type RunAddress, nodeKey } from '../../lib/engine/ids.ts';
import type { Commit } from '../../lib/engine/log/commit.ts';
import type { Heartbeat } from '../../lib/engine/log/heartbeat-timeout.ts';
import { type Instant, hours } from '../../lib/engine/time.ts';
import type { Job } from '../../lib/ports/jobs.ts';
import type { Process } from './process.ts';
import { runInvariant } from './violation.ts';

/** The fewest crashes after which `failureIfLost` gives up an attempt, at any time. */
const leastDeaths = 3;
/** Five worker crashes with the delays between them, without other faults. */
const longestDyingMs = hours(2);

interface Delivered {
  readonly by: Set<Process>;
  readonly since: number;
}

export interface LossRules {
  /** no faults except worker crashes */
  readonly onlyWorkersCrash: boolean;
  /** no faults except attempts that kill their workers */
  readonly isOnlyPoison: boolean;
  /** workers crash independently of attempts, for some minutes only */
  readonly isCrashStorm: boolean;
}

export class WorkerLossChecker {
  /** attempts that ended as lost */
  lost = 0;
  readonly #rules: LossRules;
  readonly #delivered = new Map<string, Delivered>();
  /** step attempts by the workflow task that they were lost with */
  readonly #killing = new Map<string, number>();
  readonly #endedRuns = new Set<string>();
  /** when the deliveries of a node began that recorded it, by their own clocks */
  readonly #begun = new Map<string, Set<Instant>>();

  constructor(rules: LossRules) {
    this.#rules = rules;
  }

  delivered(job: Job, by: Process, now: number): void {
    if (job.kind !== 'node' && job.kind !== 'workflow_task' && job.kind !== 'wake') return;
    const name = `${job.run.runId}/${nodeKey(job)}#${job.attempt}`;
    const known = this.#delivered.get(name) ?? { by: new Set<Process>(), since: now };
    known.by.add(by);
    this.#delivered.set(name, known);
  }

  /** A process writes the record of a node. A begin is written once with its own time, and then repeated. */
  recorded({ runId }: RunAddress, { node, at, deliveries }: Heartbeat): void {
    if (deliveries === undefined) return;
    const name = `${runId}/${node}`;
    const own = this.#begun.get(name) ?? new Set();
    this.#begun.set(name, own);
    if (deliveries.begun?.at === at) own.add(at);
    const repeated = [deliveries.begun?.at, ...deliveries.lost.map(({ begunAt }) => begunAt)];
    for (const begunAt of repeated)
      runInvariant(5, begunAt === undefined || own.has(begunAt), `${name} has on record a delivery that is not its own`);
  }

  /** An attempt kills its worker. @param name of the attempt or the step */
  kills(name: string, now: number): void {
    // A worker that started before it could know that its run has ended.
    if (this.#endedRuns.has(name.slice(0, name.indexOf('/')))) return;
    if (!this.#killing.has(name)) this.#killing.set(name, now);
  }

  committed({ runId }: RunAddress, { events, number }: Commit, now: number): void {
    for (const event of events) {
      if (!('nodeId' in event)) {
        if (event.type.startsWith('RUN_') && isEnd(event.type)) this.#endsAll(runId);
        continue;
      }
      const name = `${runId}/${nodeKey(event)}#${'attempt' in event ? event.attempt : 0}`;
      if (event.type !== 'NODE_FAILED' && event.type !== 'NODE_RETRIED') continue;
      this.#ends(name, now);
      const { code } = event.failure;
      if (code === 'recovery_error') this.#check(name);
      // The workflow task that the steps were lost with ends in the same commit.
      const drive = events.find((each) => each.type === 'NODE_COMPLETED' && each.nodeId.startsWith('.workflow-task.'));
      if (code === 'worker_lost' && drive !== undefined && 'attempt' in drive && 'nodeId' in drive)
        this.#check(`${runId}/${nodeKey(drive)}#${drive.attempt}`);
      runInvariant(
        5,
        code !== 'worker_lost' || drive !== undefined,
        `${name} was lost in commit ${number} without its workflow task`,
      );
    }
  }

  #check(name: string): void {
    this.lost += 1;
    runInvariant(5, !this.#rules.isCrashStorm, `${name} failed as lost in a crash storm`);
    const known = this.#delivered.get(name);
    // With all faults, a message of a live worker may be redelivered, and a late heartbeat counts as missing.
    const dead = [...(known?.by ?? [])].filter(({ isAlive, hasStood }) => !isAlive || hasStood || !this.#rules.onlyWorkersCrash);
    // A dead letter alone ends no attempt: all of its deliveries may have been throttled.
    runInvariant(5, dead.length >= leastDeaths, `${name} failed as lost after ${dead.length} worker crashes`);
  }

  #ends(name: string, now: number): void {
    const since = this.#killing.get(name);
    // A retried code workflow counts the attempts of its steps from zero.
    this.#killing.delete(name);
    if (since === undefined || !this.#rules.isOnlyPoison) return;
    runInvariant(5, now - since <= longestDyingMs, `${name} killed workers for ${now - since} ms before it ended`);
  }

  #endsAll(runId: string): void {
    this.#endedRuns.add(runId);
    for (const name of this.#killing.keys()) if (name.startsWith(`${runId}/`)) this.#killing.delete(name);
  }

  check(): void {
    for (const name of this.#killing.keys()) runInvariant(5, false, `${name} kills workers and has not ended`);
  }
}

const isEnd = (type: string): boolean => ['RUN_COMPLETED', 'RUN_FAILED', 'RUN_TIMED_OUT', 'RUN_CANCELLED'].includes(type);
