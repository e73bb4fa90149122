import * as z from 'zod';
import type { StepwellClient } from '../../client/index.ts';
import type { Action, Tone } from '../command.ts';
import { parseArgument, integerBetween, parseOptions, runId } from '../parse-command-line.ts';
import { formatTable } from '../format.ts';
import { eventIdOption } from './list-events.ts';

/** Tags of one page of the service, at most. */
const pageTags = 1_000;
const shape = z.object({ after: eventIdOption, limit: integerBetween(1, 100_000).default(200) });

type Tag = Awaited<ReturnType<StepwellClient['listRunTags']>>['data'][number];
const tones: Readonly<Record<string, Tone>> = { critical: 'bad', warn: 'warn', info: 'dim' };

export const listTags: Action = async (commandLine, context) => {
  const id = parseArgument(commandLine, 0, 'runId', runId);
  const { after, limit } = parseOptions(commandLine, shape);
  const client = await context.client();
  const items: Tag[] = [];
  let hasMore = true;
  let cursor = after === undefined ? undefined : String(after);
  while (hasMore && items.length < limit) {
    const query = { limit: Math.min(pageTags, limit - items.length), ...(cursor !== undefined && { after: cursor }) };
    const page = await client.listRunTags(id, query, { signal: context.signal });
    items.push(...page.data);
    ({ hasMore, cursor } = page);
  }
  const rows = items.map(({ tag, severity, nodeId, iteration, eventId, timestamp, metadata }) => [
    String(eventId),
    timestamp,
    context.colorize(tones[severity] ?? 'dim', severity),
    tag,
    nodeId === undefined ? '' : `${nodeId}${iteration === undefined ? '' : `@${iteration}`}`,
    Object.keys(metadata).length === 0 ? '' : JSON.stringify(metadata),
  ]);
  const lines =
    rows.length === 0
      ? 'There is nothing to remark.'
      : formatTable(context, ['event', 'at', 'severity', 'tag', 'node', ''], rows);
  return { data: { items, hasMore }, text: hasMore ? `${lines}\nThere are more: --after ${cursor}.` : lines };
};
