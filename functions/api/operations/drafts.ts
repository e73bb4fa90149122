/** The routes for drafts of workflows. */
import { allows } from '../../../lib/api/auth.ts';
import type { CurrentState } from '../../../lib/api/errors.ts';
import { invariant } from '../../../lib/engine/invariant.ts';
import { iso } from '../../../lib/engine/time.ts';
import type { Draft } from '../../../lib/ports/drafts.ts';
import { deleteDraft, getDraft, saveDraft } from '../../../lib/service/definitions/drafts.ts';
import type { CallerContext } from '../caller.ts';
import { type OperationTable, refuse } from '../operation.ts';

export const draftOperations: OperationTable<'getDraft' | 'saveDraft' | 'deleteDraft'> = {
  async getDraft({ decider: { deps } }, { scope, params: { name } }) {
    const draft = await getDraft(deps, scope, name);
    return draft === undefined ? refuse('draft_not_found') : { status: 200, body: draftOf(draft) };
  },

  async saveDraft({ decider: { deps } }, request) {
    const { scope, params, body, scopes } = request;
    const result = await saveDraft(
      deps,
      scope,
      { ...params, ...body, updatedBy: authorOf(request) },
      !allows(scopes, 'payloads:read'),
    );
    switch (result.kind) {
      case 'saved':
        return { status: 200, body: draftOf(result.draft) };
      case 'definition_invalid':
        return refuse(result.kind, {
          errors: result.findings.map((finding) => ({ ...finding, pointer: `/definition${finding.pointer}` })),
        });
      case 'draft_conflict':
        return refuse(result.kind, { current: currentDraft(result.current) });
      case 'workflow_deleting':
        return refuse(result.kind);
    }
  },

  async deleteDraft({ decider: { deps } }, { scope, params: { name }, query: { revision } }) {
    const audit = { resource: `workflow/${name}` };
    const result = await deleteDraft(deps, scope, name, revision);
    switch (result.kind) {
      case 'deleted':
        return { status: 200, body: { name, deleted: true }, audit };
      case 'draft_not_found':
        return { ...refuse(result.kind), audit };
      case 'draft_conflict':
        return { ...refuse(result.kind, { current: currentDraft(result.current) }), audit };
    }
  },
};

/** Who changes a definition: the session of a person, or else the API key. */
export function authorOf({ session, caller }: Pick<CallerContext, 'session' | 'caller'>): string {
  invariant(caller !== undefined, 'a change of a definition needs an authenticated caller');
  return session?.subject ?? `key:${caller}`;
}

const draftOf = ({ updatedAt, ...draft }: Draft) => ({ ...draft, updatedAt: iso(updatedAt) });

const currentDraft = (current: Draft | undefined): CurrentState =>
  current === undefined ? { revision: 0 } : { revision: current.revision, at: iso(current.updatedAt), by: current.updatedBy };
