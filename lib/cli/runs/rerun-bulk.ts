/** Runs many runs again. Repeated with its own bulk id, it runs none of them again twice. */
import type { RunSummary } from '../../client/index.ts';
import type { JsonValue } from '../../engine/json.ts';
import { type Outcome, type Shell } from '../command.ts';
import * as z from 'zod';
import { type Bulk, bulkOptions, inBulk } from './bulk.ts';
import { newBulkId, rerunKey, startOf } from './bulk-id.ts';
import { type Filters, queryOf } from './filters.ts';

const shape = z.object({ ...bulkOptions, bulkId: z.string().optional() });

export interface WhatToRerun {
  readonly filters: Filters;
  readonly body: {
    readonly input?: JsonValue;
    readonly version?: number;
    readonly fromNode?: string;
    readonly deploymentId?: string;
  };
  readonly isMeant?: (run: RunSummary) => boolean;
  readonly verb: Bulk['verb'];
}

export async function rerunInBulk(
  shell: Shell,
  options: z.output<typeof shape>,
  { filters, body, isMeant = () => true, verb }: WhatToRerun,
): Promise<Outcome> {
  const { signal } = shell;
  const client = await shell.client();
  const { timestamp } = await client.health({ signal });
  const bulkId = options.bulkId ?? newBulkId(Date.parse(timestamp), shell.newId());
  const startedAt = new Date(startOf(bulkId, Date.parse(timestamp))).toISOString();
  const { createdBefore = startedAt } = filters;
  const before = Date.parse(createdBefore) < Date.parse(startedAt) ? createdBefore : startedAt;
  const query = queryOf({ ...filters, createdBefore: before });
  shell.note(`If this breaks off, go on with --bulk-id ${bulkId} and the same filters.`);
  return inBulk(shell, options, {
    verb,
    facts: { bulkId },
    runs: filtered(client.eachRun({ ...query, limit: 100 }, { signal }), isMeant),
    each: async ({ runId }) => {
      const made = await client.rerunRun(runId, body, { idempotencyKey: rerunKey(bulkId, runId), signal });
      return { outcome: 'done', detail: made.runId };
    },
  });
}

async function* filtered(runs: AsyncIterable<RunSummary>, isMeant: (run: RunSummary) => boolean): AsyncGenerator<RunSummary> {
  for await (const run of runs) if (isMeant(run)) yield run;
}
