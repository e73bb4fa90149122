/**
 * Embeds: the status of one run, or of the newest run of one workflow, for pages of other sites. A token opens nothing else, and no
 * inputs, outputs or errors. It ends at its expiry or when it is revoked, and not with the key that created it.
 */
import { defined } from '../../base/defined.ts';
import type { EmbedId, KeyId, Scope } from '../../engine/ids.ts';
import { type RunStatus, type Head, isTestRun } from '../../engine/log/head.ts';
import { type DurationMs, type Instant, after } from '../../engine/time.ts';
import type { Embed, EmbedTarget } from '../../ports/embeds.ts';
import type { Deps } from '../deps.ts';
import { listRuns, statusOf } from '../runs/list-runs.ts';

/** Usable ones of a project and environment. */
export const maxEmbeds = 100;

export interface MintedEmbed {
  readonly id: EmbedId;
  readonly digest: string;
}

interface EmbedRequest {
  readonly target: EmbedTarget;
  readonly origins: readonly string[];
  readonly lifetime: DurationMs;
}

export type CreateEmbedResult =
  | { readonly kind: 'created'; readonly embed: Embed }
  | { readonly kind: 'not_found' | 'too_many_embeds' };

export async function createEmbed(
  deps: Pick<Deps, 'embeds' | 'clock' | 'log'>,
  scope: Scope,
  keyId: KeyId,
  { target, origins, lifetime }: EmbedRequest,
  minted: MintedEmbed,
): Promise<CreateEmbedResult> {
  if (target.kind === 'run' && (await deps.log.head({ ...scope, runId: target.runId })) === undefined)
    return { kind: 'not_found' };
  const createdAt = deps.clock.now();
  const usable = (await deps.embeds.list(scope)).filter(({ expiresAt }) => expiresAt > createdAt);
  if (usable.length >= maxEmbeds) return { kind: 'too_many_embeds' };
  const embed: Embed = { ...minted, ...scope, target, origins, createdAt, expiresAt: after(createdAt, lifetime), keyId };
  await deps.embeds.put(embed);
  return { kind: 'created', embed };
}

/** What a page of another site shows. */
export interface EmbedView {
  readonly workflowName: string;
  /** undefined: the workflow has no run, or the data of the run is deleted */
  readonly run: { readonly status: RunStatus; readonly createdAt: Instant; readonly endedAt?: Instant } | undefined;
}

/** Undefined for a token that is unknown, expired or revoked. */
export async function findEmbed({ embeds, clock }: Pick<Deps, 'embeds' | 'clock'>, digest: string): Promise<Embed | undefined> {
  const embed = await embeds.embed(digest);
  return embed !== undefined && embed.expiresAt > clock.now() ? embed : undefined;
}

export async function viewEmbed(deps: Pick<Deps, 'log' | 'index'>, embed: Embed): Promise<EmbedView> {
  const { target, projectId, environment } = embed;
  const scope = { projectId, environment };
  if (target.kind === 'run') {
    const head = await deps.log.head({ ...scope, runId: target.runId });
    return { workflowName: head?.workflow.name ?? 'run', run: head && !isTestRun(head) ? await runOf(deps, head) : undefined };
  }
  const { runs } = await listRuns(deps, scope, { workflowName: target.workflowName }, { limit: 1 });
  const newest = runs.find((run) => 'head' in run);
  return { workflowName: target.workflowName, run: newest === undefined ? undefined : await runOf(deps, newest.head) };
}

async function runOf(deps: Pick<Deps, 'log'>, head: Head): Promise<NonNullable<EmbedView['run']>> {
  const status = await statusOf(deps, head);
  const endedAt = 'endedAt' in head.projection ? head.projection.endedAt : undefined;
  return defined({ status, createdAt: head.createdAt, endedAt });
}
