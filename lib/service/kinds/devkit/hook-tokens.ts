/**
 * Tokens of hooks: one live hook has each. A hook claims its token before its event is committed, so a claim alone proves nothing: the
 * log of the claiming run decides. A claim is dead if its hook is disposed, its run has ended or is gone, or its event never came.
 */
import type { WorldRequest } from '../../../engine/devkit/decide.ts';
import { isTerminalRunEvent } from '../../../engine/devkit/events.ts';
import { liveHooks } from '../../../engine/devkit/state.ts';
import type { Scope } from '../../../engine/ids.ts';
import { isTerminal } from '../../../engine/log/fold.ts';
import { type DurationMs, type Instant, after, between, durationMs, seconds } from '../../../engine/time.ts';
import type { TokenClaim } from '../../../ports/devkit.ts';
import { readRunFold } from '../../run-log/read-run-fold.ts';
import { type DevKitFold, type World, devKitOf, isDevKit } from './world.ts';

/** A request that claims a token ends earlier: afterwards a claim without its event is dead. */
export const maxClaimAge = seconds(60);
/** The last half is for the put, and for clocks that differ. */
const usableClaimAge = seconds(30);
/** How long a request waits for the event of another one's claim. */
const maxWait = seconds(4);
const pause: DurationMs = durationMs(100);

export type Claimed =
  /** the hook has the token if its event is committed by then */
  | { readonly kind: 'claimed'; readonly commitBy: Instant }
  /** the live hook of another run, or another hook of this one, has it */
  | { readonly kind: 'taken'; readonly by: TokenClaim }
  /** another request has claimed it and may still commit its hook */
  | { readonly kind: 'undecided' };

export async function claimToken(world: World, { head }: DevKitFold, token: string, hookId: string): Promise<Claimed> {
  const { deps } = world;
  const { address, expiresAt } = head;
  const startedAt = deps.clock.now();
  const proposed: TokenClaim = { runId: address.runId, hookId, nonce: deps.ids.nonce(), claimedAt: startedAt };
  for (;;) {
    const claim = await deps.hookTokens.claim(address, token, proposed, expiresAt);
    if (claim.runId === address.runId && claim.hookId === hookId) {
      const commitBy = after(claim.claimedAt, usableClaimAge);
      if (deps.clock.now() <= commitBy) {
        // The index by id: a reader believes only the log.
        await deps.hookTokens.nameHook(address, hookId, expiresAt);
        return { kind: 'claimed', commitBy };
      }
      // An earlier request of this hook crashed before its event. Others may count its claim as dead at any moment.
      await deps.hookTokens.replace(address, token, claim, proposed, expiresAt);
      if (between(startedAt, deps.clock.now()) >= maxWait) return { kind: 'undecided' };
      continue;
    }
    const owner = await stateOfClaim(world, address, claim);
    if (owner === 'live') return { kind: 'taken', by: claim };
    if (owner === 'dead') await deps.hookTokens.replace(address, token, claim, proposed, expiresAt);
    else if (between(startedAt, deps.clock.now()) >= maxWait) return { kind: 'undecided' };
    else await deps.clock.sleep(pause);
  }
}

async function stateOfClaim({ deps }: World, scope: Scope, claim: TokenClaim): Promise<'live' | 'dead' | 'undecided'> {
  const { projectId, environment } = scope;
  const fold = await readRunFold(deps, { projectId, environment, runId: claim.runId });
  if (!isDevKit(fold) || isTerminal(fold.state.progress)) return 'dead';
  const hook = devKitOf(fold).hooks.get(claim.hookId);
  if (hook !== undefined) return hook.isDisposed === true ? 'dead' : 'live';
  return between(claim.claimedAt, deps.clock.now()) > maxClaimAge ? 'dead' : 'undecided';
}

/**
 * Frees the tokens of hooks that the event ended. A lost call leaves dead claims, as does the end of a run by another function: the next
 * hook takes them over.
 */
export async function releaseTokens(
  { deps }: World,
  fold: DevKitFold,
  { event, correlationId = '' }: WorldRequest,
): Promise<void> {
  const devkit = devKitOf(fold);
  const disposed = event === 'hook_disposed' ? devkit.hooks.get(correlationId) : undefined;
  const ended = isTerminalRunEvent(event) ? liveHooks(devkit) : [];
  for (const { token, hookId } of disposed === undefined ? ended : [disposed])
    await deps.hookTokens.releaseOf(fold.head.address, token, hookId);
}
