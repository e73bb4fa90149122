/** The interface between a worker and the runner of a node type. */
import type * as z from 'zod';
import type { Outcome } from '../engine/graph/outcome.ts';
import { ContextTooLarge } from '../engine/graph/payload-limits.ts';
import type { NodeInput } from '../engine/graph/plan.ts';
import { WorkLimitExceeded } from '../engine/graph/work-limits.ts';
import type { Attempt, Scope } from '../engine/ids.ts';
import type { JsonObject } from '../engine/json.ts';
import type { Failure, Gate } from '../engine/log/events.ts';
import type { QueryVersion } from '../engine/query/definition.ts';
import type { DurationMs } from '../engine/time.ts';
import type { Trace } from '../engine/trace.ts';
import { type NodeShape, parseConfig } from './node-type.ts';
import type { SecretUse } from './secret-use.ts';

export interface NodeTools {
  /** aborted when the run ends or the worker stops; the attempt then has no outcome */
  readonly signal: AbortSignal;
  /** the node's time limit; the runner enforces it, so that its failure can name the operation that timed out */
  readonly timeoutMs: DurationMs;
  /** time slice: CPU time for the attempt's scripts before the attempt moves to the slow lane; absent: no such limit */
  readonly timeSlice?: DurationMs;
  /** project and environment of the run */
  readonly scope: Scope;
  readonly number: Attempt;
  /** streams parts of a text; absent when no client is subscribed */
  readonly append?: (text: string) => void;
  /** idempotency token for remote services: the same when this attempt is redelivered, for example after a crash */
  readonly token: string;
  /** trace of the run, with a span for this attempt; absent when the run has none */
  readonly trace?: Trace;
  /** secrets that the run's project may use, tracked for this attempt */
  readonly secrets: SecretUse;
  /** reads a query of the run's project, by default the latest version; rejects when it cannot be read now */
  readonly query: (name: string, version?: number) => Promise<QueryLookup>;
}

export interface RunResult {
  readonly outcome: Outcome;
  /** what the author's code printed, at most 200 lines and 16 KB */
  readonly printed: readonly string[];
  /** CPU time of the attempt's scripts; absent: it ran none, or a thread could not report it */
  readonly cpuMs?: number;
}

export interface Runner {
  readonly type: string;
  /**
   * A failure of the node is an outcome. Rejects with the signal's reason on an abort, with `PayloadsNeeded` when the context
   * must be loaded first, with `TimeSliceExceeded` when the scripts have used up their time slice, and with `Unavailable` when a
   * record or a secret cannot be read now.
   */
  run(config: JsonObject, input: NodeInput, tools: NodeTools): Promise<RunResult>;
}

/** Parses the config as validation does. An invalid config fails the node without a retry. */
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

/** Rejects when the signal aborts, for work that ignores the signal. The work continues, and its result is dropped. */
export const unlessAborted = async <Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> => {
  signal.throwIfAborted();
  const { promise, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => reject(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
};

/** The result of a lookup of a stored query. */
export type QueryLookup =
  | { readonly kind: 'query'; readonly query: QueryVersion }
  | { readonly kind: 'unknown' }
  | { readonly kind: 'version_unknown' }
  | { readonly kind: 'archived' };
