/**
 * Looks at a run of a workflow that limits how many of them are at work, and does what is left to be done: gives it a place, or
 * lets it wait for one; gives its place back where it has ended, and calls those who wait first. Asked as often as anybody
 * likes: what counts is the run's log, where a run has one place for ever, and the places, which are taken and given back on
 * conditions. (docs/decisions/concurrency-slots.md)
 */
import { type RunAddress, type RunId, type Scope } from '../engine/ids.ts';
import { isTerminal } from '../engine/log/fold.ts';
import { pinnedVersion, terminalStatuses } from '../engine/log/head.ts';
import { type PlacesOf, type TakenPlace, type WaitingRun, inOrder, seating } from '../engine/places.ts';
import { durationMs } from '../engine/time.ts';
import type { PlaceJob } from '../ports/jobs.ts';
import { Unavailable } from '../ports/unavailable.ts';
import { type Decider, decideRun } from './decide-run.ts';
import type { Deps } from './deps.ts';
import { later } from './later.ts';
import { type RunFold, readRun } from './read-log.ts';

/** Of those who wait so many are looked at; the others are called when these have been let in. */
const mostCalled = 25;
/** How often all places that were seen free may be snatched away before the message comes back to it later. */
const mostLooks = 10;

export async function tendPlace(decider: Decider, job: PlaceJob): Promise<void> {
  const { deps } = decider;
  const fold = await readRun(deps, job.run);
  if (fold === undefined || isTerminal(fold.state.progress)) return giveBack(deps, job);
  const { admission } = fold.state;
  // Workflows of graphs alone have slots, whatever the log of code says.
  if (admission === undefined || fold.head.kind !== 'graph') return;
  if (admission.place !== undefined) return giveBack(deps, job, admission.place);
  if (admission.notBefore !== undefined && admission.notBefore > deps.clock.now()) return later(deps, admission.notBefore, job);
  const { runId } = job.run;
  await letIn(decider, fold, job, { runId, since: admission.since, places: admission.places });
}

const placesOf = ({ run: { projectId, environment }, workflowName }: PlaceJob): PlacesOf => ({
  projectId,
  environment,
  workflowName,
});

/** What the run has and does not need: all places but the one that its log names, and its entry among those who wait. */
async function giveBack(deps: Deps, job: PlaceJob, keeps?: number): Promise<void> {
  const of = placesOf(job);
  const { runId } = job.run;
  for (const { place } of ofRun(await deps.places.taken(of), runId)) {
    if (place !== keeps) await deps.places.free(of, place, runId);
  }
  await deps.places.leave(of, { runId, since: job.since });
  // After that: whoever enters later sees what is free by itself.
  const waiting = await deps.places.waiting(of, mostCalled);
  if (waiting.length > 0) await call(deps, job, waiting, seating(await deps.places.taken(of), waiting));
}

const ofRun = (taken: readonly TakenPlace[], runId: RunId): readonly TakenPlace[] => taken.filter((each) => each.runId === runId);

/** A run enters first and looks second; a place is given back first and looked around second. So one sees the other. */
async function letIn(decider: Decider, fold: RunFold, job: PlaceJob, own: WaitingRun): Promise<void> {
  const { deps } = decider;
  const of = placesOf(job);
  let isEntered = false;
  let hasChecked = job.isLook !== true;
  for (let look = 1; look <= mostLooks; look += 1) {
    const taken = await deps.places.taken(of);
    const [held] = ofRun(taken, own.runId);
    if (held !== undefined) return admit(decider, fold, job, { place: held.place, isListed: true });
    const isFull = placesLeft(taken, own) === 0;
    const waiting = isFull && hasChecked ? [] : await deps.places.waiting(of, mostCalled);
    const isListed = isEntered || waiting.some(({ runId }) => runId === own.runId);
    const seats = seating(taken, isListed ? waiting : [...waiting, own]);
    const seat = seats.get(own.runId);
    if (seat !== undefined) {
      if (await deps.places.take(of, seat, own.runId, fold.head.expiresAt)) {
        return admit(decider, fold, job, { place: seat, isListed });
      }
    } else if (!isEntered) {
      await deps.places.enter(of, own, fold.head.expiresAt);
      isEntered = true;
    } else if (!hasChecked && isFull && waiting[0]?.runId === own.runId) {
      hasChecked = true;
      await freeOfTheDead(deps, of, taken);
    } else {
      const earlier = waiting.filter((each) => inOrder(each, own) < 0);
      return call(deps, job, earlier, seats);
    }
  }
  throw new Unavailable(`a place of ${job.workflowName} that nobody else takes`);
}

const placesLeft = (taken: readonly TakenPlace[], { places }: WaitingRun): number =>
  places - taken.filter(({ place }) => place < places).length;

/** The log decides whether it has this place: another worker may have given it another one, or somebody may have ended it. */
async function admit(
  decider: Decider,
  fold: RunFold,
  job: PlaceJob,
  { place, isListed }: { readonly place: number; readonly isListed: boolean },
): Promise<void> {
  const { deps, plans } = decider;
  const plan = await plans.of(deps, job.run, pinnedVersion(fold.head));
  await decideRun(decider, fold, plan, [{ kind: 'place-taken', place }]);
  const { progress, admission } = fold.state;
  if (admission?.place === place && !isListed) return;
  await giveBack(deps, job, isTerminal(progress) ? undefined : admission?.place);
}

/** Places of runs that have ended, or are gone: their own messages were lost. Asked by the first who waits, at the sweep's pace. */
async function freeOfTheDead(deps: Deps, of: PlacesOf, taken: readonly TakenPlace[]): Promise<void> {
  for (const { place, runId } of taken) {
    const head = await deps.log.head(addressOf(of, runId));
    const isOver = head === undefined || terminalStatuses.some((status) => status === head.projection.status);
    if (isOver) await deps.places.free(of, place, runId);
  }
}

const addressOf = ({ projectId, environment }: Scope, runId: RunId): RunAddress => ({ projectId, environment, runId });

/** Those for whom there is a place look for it themselves: only a run's own message gives it one. */
async function call(deps: Deps, job: PlaceJob, waiting: readonly WaitingRun[], seats: ReadonlyMap<RunId, number>): Promise<void> {
  for (const { runId, since } of waiting) {
    if (!seats.has(runId)) continue;
    const { workflowName } = job;
    await deps.jobs.sendLater({ kind: 'place', run: addressOf(job.run, runId), workflowName, since }, durationMs(0));
  }
}
