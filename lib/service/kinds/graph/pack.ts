/**
 * Results that a worker holds back, to commit them together. Only results of idempotent nodes are held: if the worker dies, the nodes
 * run again, and no reader has seen the first results. A pack contains the first result and what follows from it, decided in a draft
 * of the fold. The first pack of a run that a start has not written contains the creation too: its commit is the head of the run.
 */
import type { Plan } from '../../../engine/graph/plan.ts';
import { firstAttempt, firstCommit, nodeKey } from '../../../engine/ids.ts';
import { invariant } from '../../../engine/invariant.ts';
import { type Commit, maxPackAge, maxPackLength, nextCommitNo } from '../../../engine/log/commit.ts';
import { applyEvent, fork, isTerminal } from '../../../engine/log/fold.ts';
import { isHeldByHead } from '../../../engine/log/head.ts';
import { type OpenNode, isOpen } from '../../../engine/log/node-state.ts';
import { type DurationMs, type Instant, between, durationMs } from '../../../engine/time.ts';
import { isPastDeadline } from '../../commit/deadline.ts';
import { effectsOf } from '../../commit/effects.ts';
import { type RunFold, hasSiblings } from '../../run-log/read-run-fold.ts';
import type { Worker } from '../../worker.ts';
import type { NodeEnded } from './attempt-node.ts';
import { type DraftCommitted, commitDrafted, decideOnDraft, decideRun } from './decide-run.ts';
import { writeNewRun, writeSecondCommit } from './write-to-head.ts';

export type PackCommitted =
  /** the log contains the pack */
  | { readonly kind: 'whole'; readonly commit: Commit }
  /** another writer was first, or the deadline has passed: of the pack, the log may contain the first result at most */
  | { readonly kind: 'dropped'; readonly commit: Commit | undefined };

export class Pack {
  readonly #worker: Worker;
  readonly #fold: RunFold;
  readonly #plan: Plan;
  /** its commit creates the run */
  readonly #writesHead: boolean;
  #first: NodeEnded | undefined;
  readonly #openedAt;
  /** the number of its commit */
  readonly #number;
  readonly #events: Commit['events'][number][] = [];
  /** how many of them the first result has */
  #firstEvents = 0;
  /** a result that can only be decided with the pack in the log */
  #undecided: NodeEnded | undefined;
  #length = 0;
  #committed: PackCommitted | undefined;
  /** the fold with the events of the pack */
  readonly draft: RunFold;

  /** @param fold must not change before the pack is committed; of a run that is not in the log, this pack writes the head */
  constructor(worker: Worker, fold: RunFold, plan: Plan) {
    this.#worker = worker;
    this.#fold = fold;
    this.#plan = plan;
    this.#openedAt = worker.deps.clock.now();
    const { asOf } = fold.state;
    this.#writesHead = asOf === 0;
    this.#number = asOf === 0 ? firstCommit : nextCommitNo(asOf);
    this.draft = { head: fold.head, state: fork(fold.state), snapshotAt: fold.snapshotAt };
    if (this.#writesHead) this.#apply(fold.head.commit.events, fold.head.commit.at);
  }

  /** How the pack was committed; undefined: it is open. */
  get committed(): PackCommitted | undefined {
    return this.#committed;
  }

  /** Time until the pack must be committed, in ms; 0 when it is due. */
  get remaining(): DurationMs {
    return durationMs(Math.max(0, maxPackAge - between(this.#openedAt, this.#worker.deps.clock.now())));
  }

  /**
   * Adds the first result, or the result of the node that the pack returned last.
   * @returns the node whose result may be held too; undefined: the pack must be committed now
   */
  add(ended: NodeEnded): OpenNode | undefined {
    this.#first ??= ended;
    const events = decideOnDraft(this.#worker, this.#fold, this.#plan, this.draft.state, ended);
    if (events === undefined) {
      this.#undecided = ended;
      return undefined;
    }
    this.#apply(events, this.#worker.deps.clock.now());
    if (this.#firstEvents === 0) this.#firstEvents = this.#events.length;
    return this.#canHold(events) ? this.#nextOf(events) : undefined;
  }

  /** @throws Unavailable when the outcome of the put stays unknown */
  async commit(): Promise<PackCommitted> {
    this.#committed ??= await this.#commit();
    return this.#committed;
  }

  async #commit(): Promise<PackCommitted> {
    const [worker, fold, plan] = [this.#worker, this.#fold, this.#plan];
    const { appended, isWhole } = await this.#write();
    const commit = appended.kind === 'committed' ? appended.commit : undefined;
    if (commit === undefined || !isWhole) return { kind: 'dropped', commit };
    if (this.#undecided === undefined) return { kind: 'whole', commit };
    const last = await decideRun(worker, fold, plan, [this.#undecided], true);
    return last.kind === 'committed' ? { kind: 'whole', commit: last.commit } : { kind: 'dropped', commit: undefined };
  }

  #write(): Promise<DraftCommitted> {
    const [worker, fold, plan, first] = [this.#worker, this.#fold, this.#plan, this.#first];
    const isCurrent = (): boolean => this.#isCurrent;
    const events = (): Commit['events'] | undefined => (isCurrent() ? this.#events : undefined);
    if (this.#writesHead) return writeNewRun(worker, fold, plan, first, events);
    invariant(first !== undefined, 'a pack without a result has nothing to commit');
    const firstEvents = this.#firstEvents;
    return this.#events.length > firstEvents && isHeldByHead(fold.head, { number: this.#number })
      ? writeSecondCommit(worker, fold, plan, { first, events: this.#events, firstEvents, draft: this.draft, isCurrent })
      : commitDrafted(worker, fold, plan, first, events);
  }

  /** Whether the events are still what follows from the log. */
  get #isCurrent(): boolean {
    return (
      this.#events.length > 0 && this.#fold.state.asOf === this.#number - 1 && !isPastDeadline(this.#worker.deps, this.#fold)
    );
  }

  #apply(events: Commit['events'], at: Instant): void {
    const stamp = { commit: this.#number, at };
    for (const event of events) applyEvent(this.draft.state, event, stamp);
    this.#events.push(...events);
    this.#length += JSON.stringify(events).length;
  }

  /** Whether nothing waits for these events. The start of the run is announced with the pack. */
  #canHold(events: Commit['events']): boolean {
    if (this.#length > maxPackLength || this.remaining === 0 || isTerminal(this.draft.state.progress)) return false;
    const commit = { number: this.#number, events, at: this.#worker.deps.clock.now() };
    const effects = effectsOf(this.#worker.kinds.graph, this.draft, commit);
    return effects.every(({ kind }) => kind === 'notify-start');
  }

  /** The idempotent node that these events dispatched to this worker, if nothing else of the run is open. */
  #nextOf(events: Commit['events']): OpenNode | undefined {
    const { state } = this.draft;
    for (const event of events) {
      if (event.type !== 'NODE_DISPATCHED' || event.via !== 'inline') continue;
      const node = state.nodes.get(nodeKey(event));
      if (node === undefined || !isOpen(node)) continue;
      const planned = this.#plan.nodes.get(node.nodeId);
      invariant(planned !== undefined, `the pack dispatched node ${node.nodeId}, which the pinned version does not have`);
      const isHeld = planned.policy.isIdempotent === true && node.attempt === firstAttempt && !hasSiblings(state, node);
      // Before the head exists only scripts run: another process may write the head and run the node at the same time.
      return isHeld && (!this.#writesHead || !planned.recordsStart) ? node : undefined;
    }
    return undefined;
  }
}
