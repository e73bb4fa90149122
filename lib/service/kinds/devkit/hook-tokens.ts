/**
 * Tokens of hooks: one live hook has each. A hook claims its token before its event is committed, so a claim alone proves nothing: the
 * log of the claiming run decides. A claim names the only commit that may contain the event. While the log has no commit of that number,
 * the claim is open; afterwards it is decided for ever. A hook that finds an open claim closes it: it takes the number with an empty
 * commit, so that the event must claim again. No clock is compared (docs/decisions/hook-tokens.md).
 */
import type { WorldRequest } from '../../../engine/devkit/decide.ts';
import { textIn } from '../../../engine/devkit/fold.ts';
import { isTerminalRunEvent } from '../../../engine/devkit/events.ts';
import { liveHooks } from '../../../engine/devkit/state.ts';
import type { CommitNo, Scope } from '../../../engine/ids.ts';
import { invariant } from '../../../engine/invariant.ts';
import { type Commit, nextCommitNo } from '../../../engine/log/commit.ts';
import { isTerminal } from '../../../engine/log/fold.ts';
import { durationMs } from '../../../engine/time.ts';
import type { TokenClaim } from '../../../ports/devkit.ts';
import { putUntilOutcomeKnown } from '../../run-log/append.ts';
import { readRunFold, readTail } from '../../run-log/read-run-fold.ts';
import { type DevKitFold, type World, devKitOf, isDevKit } from './world.ts';
import { type WorldError, invalid } from './world-error.ts';

interface Claiming {
  /** with the owner of its token, if that is another hook */
  readonly request: WorldRequest;
  /** the only commit that may contain the event; undefined: the decision needs no claim */
  readonly commitNo?: CommitNo;
}

/** Claims the token that the event `hook_created` asks for. */
export async function withToken(world: World, fold: DevKitFold, request: WorldRequest): Promise<Claiming | WorldError> {
  const token = textIn(request, 'token');
  const { correlationId } = request;
  if (token === undefined || correlationId === undefined) return invalid('/data/eventData', 'a hook has a token and an id');
  for (;;) {
    const { devkit, progress } = fold.state;
    const isKnown = devkit?.hooks.has(correlationId) === true || devkit?.refusedHooks.has(correlationId) === true;
    // The decision answers it.
    if (isKnown || isTerminal(progress)) return { request };
    const claimed = await claimToken(world, fold, token, correlationId);
    if (claimed.kind === 'taken') return { request: { ...request, tokenOwner: claimed.by.runId } };
    if (claimed.kind === 'claimed') return { request, commitNo: claimed.commitNo };
    const read = await readTail(world.deps, fold);
    invariant(read > 0, `a hook of ${fold.head.address.runId} is claimed for a commit after one that the log does not have`);
  }
}

const nextCommitOf = ({ asOf }: DevKitFold['state']): CommitNo => {
  invariant(asOf !== 0, 'a run of the DevKit begins with a commit');
  return nextCommitNo(asOf);
};

/** Whether the next commit of the run is the one for which the token is claimed. */
export const isStillClaimed = ({ state }: DevKitFold, { commitNo }: Claiming): boolean =>
  commitNo === undefined || commitNo === nextCommitOf(state);

type Claimed =
  /** the hook has the token if its event is in the commit of this number */
  | { readonly kind: 'claimed'; readonly commitNo: CommitNo }
  /** the live hook of another run, or another hook of this one, has it */
  | { readonly kind: 'taken'; readonly by: TokenClaim }
  /** another request for this hook has read more of the log than this one */
  | { readonly kind: 'behind' };

/** Claims the token for the event in the next commit of the run. */
async function claimToken(world: World, { head, state }: DevKitFold, token: string, hookId: string): Promise<Claimed> {
  const { hookTokens, ids } = world.deps;
  const { address, expiresAt } = head;
  const commitNo = nextCommitOf(state);
  const proposed: TokenClaim = { runId: address.runId, hookId, nonce: ids.nonce(), commitNo };
  for (;;) {
    const claim = await hookTokens.claim(address, token, proposed, expiresAt);
    if (claim.runId === address.runId && claim.hookId === hookId) {
      if (claim.commitNo > commitNo) return { kind: 'behind' };
      if (claim.commitNo === commitNo) {
        // The index by id: a reader believes only the log.
        await hookTokens.nameHook(address, hookId, expiresAt);
        return { kind: 'claimed', commitNo };
      }
      // An earlier request for this hook lost its commit number to another event, or crashed.
    } else if ((await settleClaim(world, address, claim)) === 'live') return { kind: 'taken', by: claim };
    await hookTokens.replace(address, token, claim, proposed, expiresAt);
  }
}

/** How often an open claim is looked at before it is closed: its event usually comes within milliseconds. */
const patientLooks = 5;
const pause = durationMs(50);

/** Whether the claim's hook lives. An open claim is closed, so that the answer stays true. */
async function settleClaim({ deps, by }: World, scope: Scope, claim: TokenClaim): Promise<'live' | 'dead'> {
  const { projectId, environment } = scope;
  for (let looks = 1; ; looks += 1) {
    const fold = await readRunFold(deps, { projectId, environment, runId: claim.runId });
    if (!isDevKit(fold) || isTerminal(fold.state.progress)) return 'dead';
    const hook = devKitOf(fold).hooks.get(claim.hookId);
    if (hook !== undefined) return hook.isDisposed === true ? 'dead' : 'live';
    const { head, state } = fold;
    if (claim.commitNo <= state.asOf) return 'dead';
    if (looks < patientLooks) {
      await deps.clock.sleep(pause);
      continue;
    }
    const empty: Commit = {
      number: nextCommitOf(state),
      firstEventId: state.nextEventId,
      events: [],
      at: deps.clock.now(),
      by,
      nonce: deps.ids.nonce(),
    };
    // The next look finds the commit that has the number: this one or that of another writer.
    await putUntilOutcomeKnown(deps, () => deps.log.put(head.address, empty, head.expiresAt));
  }
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
