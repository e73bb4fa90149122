/** The route about the tags of a run. */
import { defined } from '../../../lib/engine/defined.ts';
import { iso } from '../../../lib/engine/time.ts';
import { listTags } from '../../../lib/service/runs/list-tags.ts';
import { type Operations, refuse } from '../operation.ts';
import type { Tools } from '../tools.ts';

/** Digits that a number holds exactly. */
const eventIdPattern = /^\d{1,15}$/;

export const tagOperations = ({ decider: { deps } }: Pick<Tools, 'decider'>): Pick<Operations<'api'>, 'listRunTags'> => ({
  listRunTags: async ({ scope, params, query: { after = '0', limit } }) => {
    if (!eventIdPattern.test(after)) return refuse('cursor_invalid');
    const result = await listTags(deps, { ...scope, ...params }, { after: Number(after), limit });
    if (result.kind === 'not_found') return refuse(result.kind);
    const data = result.tags.map(({ at, iteration, ...tag }) =>
      defined({
        ...tag,
        iteration: iteration === undefined || iteration === '' ? undefined : iteration,
        timestamp: iso(at),
      }),
    );
    return { status: 200, body: { data, cursor: String(result.last), hasMore: result.hasMore } };
  },
});
