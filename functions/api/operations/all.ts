/** All operations of the api function, and its small ones: health, tickets and tags. */
import { randomBytes } from 'node:crypto';
import { newTicket } from '../../../lib/api/auth.ts';
import { apiRoutes } from '../../../lib/api/api-routes.ts';
import { defined } from '../../../lib/base/defined.ts';
import { invariant } from '../../../lib/engine/invariant.ts';
import { iso } from '../../../lib/engine/time.ts';
import { listTags } from '../../../lib/service/runs/list-tags.ts';
import { issueTicket, ticketDigest } from '../../../lib/service/watching/open-with-ticket.ts';
import { type ApiTools, type Operations, type Served, refuse } from '../operation.ts';
import { publicationOperations } from './publications.ts';
import { runReadOperations } from './run-reads.ts';
import { runOperations } from './runs.ts';
import { runControlOperations } from './run-control.ts';
import { testRunOperations } from './test-runs.ts';
import { workflowOperations } from './workflows.ts';

/** At most 15 digits, so that a JavaScript number is exact. */
const eventIdPattern = /^\d{1,15}$/;

const apiOperations: Operations<'api', ApiTools> = {
  ...workflowOperations,
  ...publicationOperations,
  ...runOperations,
  ...runReadOperations,
  ...runControlOperations,
  ...testRunOperations,

  async getHealth({ decider: { deps } }) {
    return { status: 200, body: { healthy: true, timestamp: iso(deps.clock.now()) } };
  },

  async createTicket({ decider: { deps } }, { scope, params, caller }) {
    invariant(caller !== undefined, 'a ticket needs an authenticated key');
    const ticket = newTicket(randomBytes);
    const audit = { resource: `run/${params.runId}`, facts: { runId: params.runId } };
    const expiresAt = await issueTicket(deps, { ...scope, ...params }, caller, ticketDigest(ticket));
    if (expiresAt === undefined) return { ...refuse('not_found'), audit };
    return { status: 201, body: { ticket, expiresAt: iso(expiresAt) }, audit };
  },

  async listRunTags({ decider: { deps } }, { scope, params, query: { after = '0', limit } }) {
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
};

export const servedByApi: Served<'api', ApiTools> = {
  routes: apiRoutes,
  operations: apiOperations,
};
