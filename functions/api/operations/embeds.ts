/** The routes of embeds. Only the response of a creation contains a token. */
import { randomBytes } from 'node:crypto';
import { newEmbed, secretDigest } from '../../../lib/api/auth.ts';
import { invariant } from '../../../lib/engine/invariant.ts';
import { iso, seconds } from '../../../lib/engine/time.ts';
import type { Embed, EmbedTarget } from '../../../lib/ports/embeds.ts';
import { createEmbed } from '../../../lib/service/access/embeds.ts';
import { type CommonTools, type OperationTable, refuse } from '../operation.ts';

type HandledOperations = 'createEmbed' | 'listEmbeds' | 'revokeEmbed';

export const embedOperations: OperationTable<HandledOperations, CommonTools> = {
  async createEmbed({ decider: { deps } }, { scope, caller, body: { runId, workflowName, origins, expiresInSeconds } }) {
    invariant(caller !== undefined, 'an embed needs an authenticated key');
    const target: EmbedTarget | undefined =
      runId !== undefined ? { kind: 'run', runId } : workflowName && { kind: 'workflow', workflowName };
    invariant(target !== undefined, 'the schema requires a target');
    const { token, id } = newEmbed(randomBytes);
    const request = { target, origins, lifetime: seconds(expiresInSeconds) };
    const result = await createEmbed(deps, scope, caller, request, { id, digest: secretDigest(token) });
    const facts = { ...target, origins };
    if (result.kind !== 'created') return { ...refuse(result.kind), audit: { resource: 'embed', facts } };
    return {
      status: 201,
      body: { ...embedOf(result.embed), path: `embed/${token}` },
      audit: { resource: `embed/${id}`, facts: { ...facts, expiresAt: iso(result.embed.expiresAt) } },
    };
  },

  async listEmbeds({ decider: { deps } }, { scope }) {
    const now = deps.clock.now();
    const usable = (await deps.embeds.list(scope)).filter(({ expiresAt }) => expiresAt > now);
    return { status: 200, body: { data: usable.map(embedOf) } };
  },

  async revokeEmbed({ decider: { deps } }, { scope, params: { embedId } }) {
    const audit = { resource: `embed/${embedId}` };
    const deleted = await deps.embeds.delete(scope, embedId);
    return deleted === undefined ? { ...refuse('not_found'), audit } : { status: 200, body: { embedId, revoked: true }, audit };
  },
};

const embedOf = ({ id, target: { kind: _kind, ...target }, origins, createdAt, expiresAt }: Embed) => ({
  embedId: id,
  ...target,
  origins,
  createdAt: iso(createdAt),
  expiresAt: iso(expiresAt),
});
