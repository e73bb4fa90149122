/** Finds the code steps in a log whose attempts all failed by themselves. */
import { stepRetryDefaults } from '../../lib/engine/durable/step.ts';
import { type RunAddress, nodeKey } from '../../lib/engine/ids.ts';
import type { Commit } from '../../lib/engine/log/commit.ts';

export class ExhaustedRetries {
  readonly #left = new Map<string, Map<string, number>>();
  readonly #givenUp = new Map<string, Set<string>>();

  committed({ runId }: Pick<RunAddress, 'runId'>, { events }: Pick<Commit, 'events'>): void {
    const left = this.#left.get(runId) ?? new Map<string, number>();
    this.#left.set(runId, left);
    for (const event of events) {
      if (event.type === 'NODE_DISPATCHED' && event.step !== undefined && event.step.kind !== 'workflow_task')
        left.set(nodeKey(event), triesOf(event.step.retry?.maximumAttempts));
      if (event.type !== 'NODE_RETRIED' && event.type !== 'NODE_FAILED') continue;
      const were = left.get(nodeKey(event));
      // An attempt lost in a worker crash is not a failure of the step.
      if (were === undefined || event.failure.cause !== 'error') continue;
      left.set(nodeKey(event), were - 1);
      if (event.type === 'NODE_FAILED' && were > 1) this.#givesUp(runId, nodeKey(event));
    }
  }

  #givesUp(runId: string, key: string): void {
    this.#givenUp.set(runId, (this.#givenUp.get(runId) ?? new Set()).add(key));
  }

  /** @returns keys of nodes */
  in(runId: string): ReadonlySet<string> {
    const spent = [...(this.#left.get(runId) ?? [])].filter(([, left]) => left === 0);
    return new Set(spent.map(([key]) => key));
  }

  /** @returns keys of steps that failed by themselves with an attempt left */
  abandonedIn(runId: string): readonly string[] {
    return [...(this.#givenUp.get(runId) ?? [])];
  }
}

/** An attempt without an end does not count. */
const triesOf = (most: number = stepRetryDefaults.maximumAttempts): number => (most === 0 ? Infinity : most);

/**
 * What nodes came to, as it is compared with what they came to without a crash. A run that is decided while a step is between
 * two of its tries cancels that step, and at which of them it is by then is a matter of time alone: where it has spent them all
 * it has failed, and that is the one other end that it may have.
 * @param nodes as `key=status` each
 */
export function normalizeAfterCrash(
  nodes: readonly string[],
  calm: readonly string[],
  spent: ReadonlySet<string>,
): readonly string[] {
  return nodes.map((node) => {
    const [key = '', status] = node.split('=');
    const cancelled = `${key}=cancelled`;
    return status === 'failed' && spent.has(key) && calm.includes(cancelled) ? cancelled : node;
  });
}
