import * as z from 'zod';
import type { RunEvent } from '../../client/index.ts';
import type { Action } from '../command.ts';
import { parseArgument, integerBetween, parseOptions, runId } from '../parse-command-line.ts';
import { formatEvent } from './format-event.ts';

/** Events of one page of the service, at most. */
const pageEvents = 1_000;

export const eventIdOption = integerBetween(0, Number.MAX_SAFE_INTEGER).optional();
const shape = z.object({ after: eventIdOption, limit: integerBetween(1, 100_000).default(200) });

export const listEvents: Action = async (commandLine, context) => {
  const id = parseArgument(commandLine, 0, 'runId', runId);
  const { after, limit } = parseOptions(commandLine, shape);
  const client = await context.client();
  const items: RunEvent[] = [];
  let hasMore = true;
  for (let from = after === undefined ? {} : { after: String(after) }; hasMore && items.length < limit;) {
    const query = { ...from, limit: Math.min(pageEvents, limit - items.length) };
    const page = await client.listRunEvents(id, query, { signal: context.signal });
    items.push(...page.data);
    hasMore = page.hasMore;
    from = { after: page.cursor };
  }
  const lines = items.map((event) => formatEvent(context, event));
  const more = hasMore ? [`There are more: --after ${items.at(-1)?.eventId ?? 0}.`] : [];
  return { data: { items, hasMore }, text: lines.length === 0 ? 'Nothing has happened.' : [...lines, ...more].join('\n') };
};
