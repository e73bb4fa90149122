/** One attempt of a `dataQuery` node. */
import type { JsonObject } from '../../../lib/engine/json.ts';
import { validateQuery } from '../../../lib/engine/query/validate-query.ts';
import type { QueryDraft, QueryVersion } from '../../../lib/engine/query/definition.ts';
import { queryName } from '../../../lib/engine/ids.ts';
import { type DurationMs, seconds } from '../../../lib/engine/time.ts';
import type { DatabasePorts } from '../../../lib/nodes/data-query/aurora.ts';
import type { NetworkAccess } from '../../../lib/egress/destination.ts';
import { createAttemptRunner } from '../../../lib/nodes/attempt-runner.ts';
import { createRunners } from '../../../lib/nodes/runners.ts';
import { inputOf, planNode, toolsOf } from '../given.ts';

/** Published as version 3. */
function queryFrom(draft: Partial<QueryDraft>): QueryVersion {
  const whole: QueryDraft = {
    name: queryName('q'),
    kind: 'postgres',
    connection: 'db',
    parameters: [],
    maxBytes: 100_000,
    timeoutMs: seconds(20),
    ...draft,
  };
  const { query, findings } = validateQuery(whole);
  if (query === undefined) throw new Error(JSON.stringify(findings));
  return { ...query, version: 3 };
}

export interface Asking {
  readonly query: Partial<QueryDraft>;
  readonly values?: JsonObject;
  readonly context?: JsonObject;
  readonly secrets?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  readonly timeoutMs?: DurationMs;
  readonly reach?: NetworkAccess;
  readonly databases?: DatabasePorts;
}

export async function ask({
  query,
  values = {},
  context = {},
  secrets = {},
  signal,
  timeoutMs = seconds(20),
  reach: networkAccess,
  databases,
}: Asking) {
  const stored = queryFrom(query);
  const attempt = createAttemptRunner(
    createRunners({
      ...(networkAccess === undefined ? {} : { networkAccess }),
      ...(databases === undefined ? {} : { databases }),
    }),
    {
      query: async () => ({ kind: 'query', query: stored }),
      secret: async (_scope, name) => {
        const text = secrets[name];
        return text === undefined ? { kind: 'not_allowed' } : { kind: 'secret', text };
      },
    },
  );
  const node = planNode('dataQuery', { query: 'q', inputValues: values });
  const { outcome } = await attempt(
    { ...node, policy: { ...node.policy, timeoutMs } },
    inputOf(context),
    toolsOf(timeoutMs, signal),
  );
  return outcome;
}
