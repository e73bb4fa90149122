/** The route about what happened to a run. It has a function of its own. */
import { listEvents } from '../../../lib/service/list-events.ts';
import { type Operations, refuse } from '../operation.ts';
import type { Tools } from '../tools.ts';

/** An event id, or 0 for the time before the first. Larger than any log is a cursor too: nothing has come after it yet. */
const eventIdPattern = /^(0|[1-9][0-9]{0,14})$/;

const jsonTypes: readonly string[] = ['application/json', 'application/*', '*/*', ''];

export const eventOperations = ({ decider: { deps } }: Tools): Operations<'events'> => ({
  listRunEvents: async ({ scope, params, query, accept }) => {
    if (!isJsonAccepted(accept)) return refuse('not_acceptable');
    const after = query.after ?? '0';
    if (!eventIdPattern.test(after)) return refuse('cursor_invalid');
    const result = await listEvents(deps, { ...scope, ...params }, { after: Number(after), limit: query.limit });
    if (result.kind === 'not_found') return refuse(result.kind);
    return { status: 200, body: { data: result.events, cursor: String(result.last), hasMore: result.hasMore } };
  },
});

/** Pages are JSON; a reader who takes nothing but a stream of events is told so at once. */
const isJsonAccepted = (accept: string | undefined): boolean =>
  accept === undefined || accept.split(',').some((part) => jsonTypes.includes(part.split(';')[0]?.trim().toLowerCase() ?? ''));
