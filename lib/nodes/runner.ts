/** How a node that needs a worker is run. */
import type * as z from 'zod';
import { ContextTooLarge } from '../engine/graph/payload-limits.ts';
import { WorkLimitExceeded } from '../engine/graph/work-limits.ts';
import type { Outcome } from '../engine/graph/outcome.ts';
import type { NodeInput } from '../engine/graph/plan.ts';
import type { Attempt, Scope } from '../engine/ids.ts';
import type { JsonObject } from '../engine/json.ts';
import type { Failure, Gate } from '../engine/log/events.ts';
import type { DurationMs } from '../engine/time.ts';
import type { Trace } from '../engine/trace.ts';
import { type NodeShape, parseConfig } from './node-type.ts';
import type { QueryLookup } from './data-query/query-lookup.ts';
import type { SecretUse } from './secret-use.ts';

export interface NodeTools {
  /** the run has ended, or the worker must stop: the attempt has no outcome then */
  readonly signal: AbortSignal;
  /** the node's own limit; keeping it is the runner's part, so that it can say what it was doing */
  readonly timeoutMs: DurationMs;
  /** how long the scripts of the attempt may take before it goes on in the slow lane; absent: as long as their limits say */
  readonly firstSlice?: DurationMs;
  /** whose run it is */
  readonly scope: Scope;
  readonly number: Attempt;
  /** told parts of a text as they come; absent where nobody listens */
  readonly append?: (text: string) => void;
  /** for whoever is asked: the same when this attempt comes again, after a crash for instance */
  readonly token: string;
  /** of the run, with a span of this attempt; absent where the run knows none */
  readonly trace?: Trace;
  /** those that the run's project may use, for this attempt */
  readonly secrets: SecretUse;
  /** of the run's project, at its latest version or another; rejects where it cannot be read at the moment */
  readonly query: (name: string, version?: number) => Promise<QueryLookup>;
}

export interface RunResult {
  readonly outcome: Outcome;
  /** what the author's code printed, at most 200 lines and 16 KB */
  readonly printed: readonly string[];
}

export interface Runner {
  readonly type: string;
  /**
   * Whatever goes wrong with the node is an outcome. Rejects with the signal's reason when that aborts, and with
   * `PayloadsNeeded` when the context must be loaded first, `TimeSliceExceeded` when its scripts have spent their first slice, or
   * `Unavailable` where a record or a secret cannot be read now.
   */
  run(config: JsonObject, input: NodeInput, tools: NodeTools): Promise<RunResult>;
}

/** Reads the config with validation's eyes; one that does not hold fails the node and is never tried again. */
export const runner = <Schema extends z.ZodObject>(
  shape: NodeShape<Schema>,
  run: (config: z.output<Schema>, input: NodeInput, tools: NodeTools) => Promise<RunResult>,
): Runner => ({
  type: shape.type,
  run: async (config, input, tools) => {
    tools.signal.throwIfAborted();
    const parsed = parseConfig(shape, config);
    if ('config' in parsed) {
      try {
        return await run(parsed.config, input, tools);
      } catch (error) {
        if (error instanceof ContextTooLarge || error instanceof WorkLimitExceeded) return failed(error.failure);
        throw error;
      }
    }
    const message = parsed.findings.map(({ path, message: reason }) => `${path.join('.')}: ${reason}`).join('; ');
    return failed({ cause: 'invalid', code: 'config_invalid', message });
  },
});

export const failed = (
  failure: Failure,
  more: { readonly retryAfterMs?: DurationMs; readonly gate?: Gate; readonly printed?: readonly string[] } = {},
): RunResult => {
  const { printed = [], ...rest } = more;
  return { outcome: { kind: 'failed', failure, ...rest }, printed };
};
