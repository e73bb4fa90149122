/** Runs many runs again. Repeated with its own bulk id, it runs none of them again twice. */
import type { RunSummary } from '../../client/index.ts';
import type { JsonValue } from '../../engine/json.ts';
import { type Outcome, type CommandContext } from '../command.ts';
import * as z from 'zod';
import { type BulkOperation, bulkOptions, runBulkOperation } from './bulk-operation.ts';
import { newBulkId, rerunIdempotencyKey, bulkStartTime } from './bulk-id.ts';
import { type Filters, toRunQuery } from './filters.ts';

const shape = z.object({ ...bulkOptions, bulkId: z.string().optional() });

export interface RerunRequest {
  readonly filters: Filters;
  readonly body: {
    readonly input?: JsonValue;
    readonly version?: number;
    readonly fromNode?: string;
    readonly deploymentId?: string;
  };
  readonly shouldRerun?: (run: RunSummary) => boolean;
  readonly verb: BulkOperation['verb'];
}

export async function rerunInBulk(
  context: CommandContext,
  options: z.output<typeof shape>,
  { filters, body, shouldRerun = () => true, verb }: RerunRequest,
): Promise<Outcome> {
  const { signal } = context;
  const client = await context.client();
  const { timestamp } = await client.health({ signal });
  const bulkId = options.bulkId ?? newBulkId(Date.parse(timestamp), context.newId());
  const startedAt = new Date(bulkStartTime(bulkId, Date.parse(timestamp))).toISOString();
  const { createdBefore = startedAt } = filters;
  const effectiveCreatedBefore = Date.parse(createdBefore) < Date.parse(startedAt) ? createdBefore : startedAt;
  const query = toRunQuery({ ...filters, createdBefore: effectiveCreatedBefore });
  context.log(`If this breaks off, go on with --bulk-id ${bulkId} and the same filters.`);
  return runBulkOperation(context, options, {
    verb,
    extraData: { bulkId },
    runs: filterRuns(client.eachRun({ ...query, limit: 100 }, { signal }), shouldRerun),
    apply: async ({ runId }) => {
      const newRun = await client.rerunRun(runId, body, { idempotencyKey: rerunIdempotencyKey(bulkId, runId), signal });
      return { outcome: 'done', detail: newRun.runId };
    },
  });
}

async function* filterRuns(
  runs: AsyncIterable<RunSummary>,
  shouldRerun: (run: RunSummary) => boolean,
): AsyncGenerator<RunSummary> {
  for await (const run of runs) if (shouldRerun(run)) yield run;
}
