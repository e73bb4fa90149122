import * as z from 'zod';
import type { StepwellClient } from '../../client/index.ts';
import type { Action, Tone } from '../command.ts';
import { argument, count, optionsIn, runId } from '../given.ts';
import { table } from '../words.ts';
import { eventIdOption } from './list-events.ts';

/** Tags of one page of the service, at most. */
const pageTags = 1_000;
const shape = z.object({ after: eventIdOption, limit: count(1, 100_000).default(200) });

type Tag = Awaited<ReturnType<StepwellClient['listRunTags']>>['data'][number];
const tones: Readonly<Record<string, Tone>> = { critical: 'bad', warn: 'warn', info: 'dim' };

export const listTags: Action = async (given, shell) => {
  const id = argument(given, 0, 'runId', runId);
  const { after, limit } = optionsIn(given, shape);
  const client = await shell.client();
  const items: Tag[] = [];
  let hasMore = true;
  let cursor = after === undefined ? undefined : String(after);
  while (hasMore && items.length < limit) {
    const query = { limit: Math.min(pageTags, limit - items.length), ...(cursor !== undefined && { after: cursor }) };
    const page = await client.listRunTags(id, query, { signal: shell.signal });
    items.push(...page.data);
    ({ hasMore, cursor } = page);
  }
  const rows = items.map(({ tag, severity, nodeId, iteration, eventId, timestamp, metadata }) => [
    String(eventId),
    timestamp,
    shell.paint(tones[severity] ?? 'dim', severity),
    tag,
    nodeId === undefined ? '' : `${nodeId}${iteration === undefined ? '' : `@${iteration}`}`,
    Object.keys(metadata).length === 0 ? '' : JSON.stringify(metadata),
  ]);
  const lines =
    rows.length === 0 ? 'There is nothing to remark.' : table(shell, ['event', 'at', 'severity', 'tag', 'node', ''], rows);
  return { data: { items, hasMore }, text: hasMore ? `${lines}\nThere are more: --after ${cursor}.` : lines };
};
