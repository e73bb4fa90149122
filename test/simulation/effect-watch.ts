/**
 * Counts what is done in the world beside what the log says: bodies of steps and attempts of nodes. None begins that no commit
 * asked for; none begins again in a process that could know that it is finished (invariant 12); and none is done twice for
 * no reason: each repetition has a fault that explains it.
 */
import { stepNodeId } from '../../lib/engine/durable/step.ts';
import { type RunAddress, nodeKey, topLevel } from '../../lib/engine/ids.ts';
import type { Commit } from '../../lib/engine/log/commit.ts';
import type { Process } from './process.ts';
import { runInvariant } from './violation.ts';

interface Done {
  readonly order: string[];
  readonly undone: string[];
}

export class EffectWatch {
  readonly #asked = new Set<string>();
  readonly #finishedAt = new Map<string, number>();
  readonly #executions = new Map<string, number>();
  readonly #rollbacks = new Map<string, Done>();
  executions = 0;
  /** executions of an attempt beyond its first */
  repeated = 0;
  rolledBack = 0;

  committed({ runId }: RunAddress, { events }: Commit, now: number): void {
    for (const event of events) {
      if (!('nodeId' in event)) continue;
      const node = `${runId}/${nodeKey(event)}`;
      if (event.type === 'NODE_DISPATCHED') this.#asks(`${node}#${event.attempt}`);
      if (event.type === 'NODE_RETRIED') this.#asks(`${node}#${event.attempt + 1}`);
      if (event.type === 'NODE_COMPLETED' || event.type === 'NODE_FAILED') this.#finishedAt.set(`${node}#${event.attempt}`, now);
      if (event.type === 'NODE_RETRIED') this.#finishedAt.set(`${node}#${event.attempt}`, now);
    }
  }

  #asks(name: string): void {
    this.#asked.add(name);
    // A workflow of code that is tried again asks anew for what had failed.
    if (this.#finishedAt.delete(name)) this.#executions.delete(name);
  }

  /** @param token names the node and its run, as whoever works on it is told */
  begins(token: string, attempt: number, by: Process): void {
    this.#begins(token, attempt, by, false);
  }

  #begins(token: string, attempt: number, by: Process, mayOverlap: boolean): void {
    const name = `${token}#${attempt}`;
    runInvariant(12, mayOverlap || this.#asked.has(name), `${name} was begun, and no commit asked for it`);
    const finishedAt = this.#finishedAt.get(name) ?? Infinity;
    // What is begun before its turn is committed may bear the number of an attempt that an earlier attempt of the workflow finished.
    runInvariant(12, mayOverlap || finishedAt >= by.lastReadAt, `${name} was begun by one who had read that it is finished`);
    const before = this.#executions.get(name) ?? 0;
    this.#executions.set(name, before + 1);
    this.executions += 1;
    // What may be done twice is begun before its turn is committed, and again when the turn is not.
    if (before > 0 && !mayOverlap) this.repeated += 1;
  }

  /** The body of a step of code has begun. */
  beginsStep(runId: string, key: string, attempt: number, { by, mayOverlap }: { by: Process; mayOverlap: boolean }): void {
    this.#begins(`${runId}/${nodeKey({ nodeId: stepNodeId(key), iteration: topLevel })}`, attempt, by, mayOverlap);
  }

  /** What a step did is undone. */
  undoes(runId: string, key: string): void {
    this.rolledBack += 1;
    const done = this.#rollbacks.get(runId) ?? { order: [], undone: [] };
    this.#rollbacks.set(runId, done);
    if (!done.undone.includes(key)) done.undone.push(key);
  }

  /** Keys of steps whose undoing began, in that order, once each. */
  undoneIn(runId: string): readonly string[] {
    return this.#rollbacks.get(runId)?.undone ?? [];
  }

  /** @param reasons how many faults struck that can have an attempt done again */
  judge(reasons: number): void {
    runInvariant(12, this.repeated <= reasons, `${this.repeated} attempts were done again, and ${reasons} faults explain them`);
  }
}
