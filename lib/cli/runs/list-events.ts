import * as z from 'zod';
import type { RunEvent } from '../../client/index.ts';
import type { Action } from '../command.ts';
import { argument, count, optionsIn, runId } from '../given.ts';
import { eventLine } from './event-line.ts';

/** Events of one page of the service, at most. */
const pageEvents = 1_000;

export const eventIdOption = count(0, Number.MAX_SAFE_INTEGER).optional();
const shape = z.object({ after: eventIdOption, limit: count(1, 100_000).default(200) });

export const listEvents: Action = async (given, shell) => {
  const id = argument(given, 0, 'runId', runId);
  const { after, limit } = optionsIn(given, shape);
  const client = await shell.client();
  const items: RunEvent[] = [];
  let hasMore = true;
  for (let from = after === undefined ? {} : { after: String(after) }; hasMore && items.length < limit;) {
    const query = { ...from, limit: Math.min(pageEvents, limit - items.length) };
    const page = await client.listRunEvents(id, query, { signal: shell.signal });
    items.push(...page.data);
    hasMore = page.hasMore;
    from = { after: page.cursor };
  }
  const lines = items.map((event) => eventLine(shell, event));
  const more = hasMore ? [`There are more: --after ${items.at(-1)?.eventId ?? 0}.`] : [];
  return { data: { items, hasMore }, text: lines.length === 0 ? 'Nothing has happened.' : [...lines, ...more].join('\n') };
};
