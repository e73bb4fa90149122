/** Scenarios of runs of the Workflow DevKit: orders of calls that seeds draw rarely, each with the property that must hold. */
import type { WorldRequest } from '../../../lib/engine/devkit/decide.ts';
import { slotId } from '../../../lib/engine/devkit/events.ts';
import { type RunAddress, eventId } from '../../../lib/engine/ids.ts';
import { inline } from '../../../lib/engine/json.ts';
import { after, minutes, seconds } from '../../../lib/engine/time.ts';
import { sweepRuns } from '../../../lib/service/execution/sweep-runs.ts';
import { publishDevKitMessage } from '../../../lib/service/kinds/devkit/publish-devkit-message.ts';
import { readChunks, writeStream } from '../../../lib/service/kinds/devkit/streams.ts';
import { overrideMethods } from '../../service/override-methods.ts';
import { runInvariant } from '../violation.ts';
import { ScriptedWorld } from './scripted-world.ts';

const created = (id: string): WorldRequest => ({
  event: 'step_created',
  correlationId: id,
  data: { stepName: 'step//./workflows/order//charge' },
  payload: inline(`input of ${id}`),
});
const lazyStart = (id: string): WorldRequest => ({ ...created(id), event: 'step_started' });
const started = (id: string): WorldRequest => ({ event: 'step_started', correlationId: id });
const hookOf = (token: string): WorldRequest => ({ event: 'hook_created', correlationId: 'hook', data: { token } });
const disposal: WorldRequest = { event: 'hook_disposed', correlationId: 'hook' };

const must = (invariant: number, found: string, expected: string, what: string): void =>
  runInvariant(invariant, found === expected, `${what}: ${found}`);

/** @throws a violation where two functions that start one step at once both own it */
async function twoLazyStarts(): Promise<void> {
  const world = await ScriptedWorld.create();
  const [one, other] = [world.caller(), world.caller()];
  const run = await world.start(one);
  await world.read(other, run);
  must(2, await world.ask(one, run, lazyStart('step')), 'step_started', 'the first start of a step');
  must(2, await world.ask(other, run, lazyStart('step')), 'entity_conflict', 'the second start of a step');
}

/** @throws a violation where a step that does not run starts after the end of its run */
async function aStepThatStartsAfterTheEnd(): Promise<void> {
  const world = await ScriptedWorld.create();
  const by = world.caller();
  const run = await world.start(by);
  for (const id of ['created', 'retried', 'running']) await world.ask(by, run, created(id));
  for (const id of ['retried', 'running']) await world.ask(by, run, started(id));
  await world.ask(by, run, { event: 'step_retrying', correlationId: 'retried', payload: inline('busy') });
  await world.ask(by, run, { event: 'run_cancelled' });
  for (const id of ['created', 'retried']) must(2, await world.ask(by, run, started(id)), 'run_expired', `a start of ${id}`);
  const end: WorldRequest = { event: 'step_completed', correlationId: 'running', payload: inline('done') };
  must(2, await world.ask(by, run, end), 'step_completed', 'the end of a step that ran');
}

/** @throws a violation where a step starts before its retry is due, or never */
async function aStepThatIsRetriedLater(): Promise<void> {
  const world = await ScriptedWorld.create();
  const by = world.caller();
  const run = await world.start(by);
  await world.ask(by, run, created('step'));
  await world.ask(by, run, started('step'));
  const until = after(world.deps.clock.now(), seconds(30));
  await world.ask(by, run, { event: 'step_retrying', correlationId: 'step', payload: inline('busy'), until });
  must(2, await world.ask(by, run, started('step')), 'too_early', 'a start before the retry');
  world.memory.clock.advance(seconds(31));
  must(2, await world.ask(by, run, started('step')), 'step_started', 'a start at the retry');
}

/** @throws a violation where two functions create one wait */
async function twoCreationsOfAWait(): Promise<void> {
  const world = await ScriptedWorld.create();
  const [one, other] = [world.caller(), world.caller()];
  const run = await world.start(one);
  await world.read(other, run);
  const wait: WorldRequest = { event: 'wait_created', correlationId: 'wait', until: after(world.deps.clock.now(), minutes(1)) };
  must(2, await world.ask(one, run, wait), 'wait_created', 'the first creation of a wait');
  must(2, await world.ask(other, run, wait), 'entity_conflict', 'the second creation of a wait');
}

/** @throws a violation where a disposed hook is resumed */
async function aResumptionAfterTheDisposal(): Promise<void> {
  const world = await ScriptedWorld.create();
  const by = world.caller();
  const run = await world.start(by);
  await world.ask(by, run, hookOf('order'));
  await world.ask(by, run, disposal);
  const resumption: WorldRequest = { event: 'hook_received', correlationId: 'hook', payload: inline('paid'), resumeId: 'one' };
  must(2, await world.ask(by, run, resumption), 'hook_not_found', 'the resumption of a disposed hook');
}

/** @throws a violation where a hook that was refused for its token gets it later, or where the disposed owner keeps it */
async function aTokenThatIsFreedLater(): Promise<void> {
  const world = await ScriptedWorld.create();
  const by = world.caller();
  const [owner, refused, later] = [await world.start(by), await world.start(by), await world.start(by)];
  await world.ask(by, owner, hookOf('order'));
  must(10, await world.ask(by, refused, hookOf('order')), 'hook_conflict', 'a second hook of a token');
  await world.ask(by, owner, disposal);
  must(10, await world.ask(by, refused, hookOf('order')), 'hook_conflict', 'a hook that was refused');
  must(10, await world.ask(by, later, hookOf('order')), 'hook_created', 'a hook of a token that is free');
}

/** @throws a violation where a function with an old fold refuses what the log allows, or answers without the newer events */
async function aFunctionWithAnOldFold(): Promise<void> {
  const world = await ScriptedWorld.create();
  const [old, other] = [world.caller(), world.caller()];
  const run = await world.start(old);
  await world.ask(other, run, created('step'));
  must(9, await world.ask(old, run, started('step')), 'step_started', 'a start of a step that another function created');
  await world.ask(other, run, created('next'));
  await world.read(old, run, 2);
  await world.ask(other, run, started('next'));
  const end: WorldRequest = { event: 'step_completed', correlationId: 'step', payload: inline('done') };
  await world.ask(old, run, end, { sinceCursor: slotId(eventId(3)) });
  await world.ask(other, run, hookOf('order'));
  must(9, await world.ask(old, run, disposal), 'hook_disposed', 'the disposal of a hook that another function created');
}

const isOfHook: Parameters<typeof holdBefore>[1] = ({ events }) =>
  events.some((event) => event.type === 'DEVKIT' && event.event === 'hook_created');

/** Runs `meanwhile` once, before the first put of such a commit. */
function holdBefore(
  world: ScriptedWorld,
  isHeld: (commit: Parameters<ScriptedWorld['beforePut']>[1]) => boolean,
  meanwhile: () => Promise<void>,
): void {
  let isDone = false;
  world.beforePut = async (_run, commit) => {
    if (isDone || !isHeld(commit)) return;
    isDone = true;
    await meanwhile();
  };
}

/** @throws a violation where a hook whose function pauses between its claim and its event, and another hook, get one token */
async function aClaimWhoseEventComesLate(): Promise<void> {
  const world = await ScriptedWorld.create();
  const [slow, quick] = [world.caller(), world.caller()];
  const [late, other] = [await world.start(slow), await world.start(quick)];
  let second = '';
  holdBefore(world, isOfHook, async () => void (second = await world.ask(quick, other, hookOf('order'))));
  const first = await world.ask(slow, late, hookOf('order'));
  must(10, `${first} and ${second}`, 'hook_conflict and hook_created', 'two hooks of one token');
}

/** Enough for the commit that closes the claim, and for one that loses its number. */
const mostClosingPuts = 3;

/** @throws a violation where the claim of a function that crashed before its event keeps the token */
async function aClaimWithoutItsEvent(): Promise<void> {
  const world = await ScriptedWorld.create();
  const by = world.caller();
  const [crashed, other] = [await world.start(by), await world.start(by)];
  holdBefore(world, isOfHook, () => Promise.reject(new Error('the process crashed')));
  const isAnswered = await world.ask(by, crashed, hookOf('order')).then(
    () => true,
    () => false,
  );
  runInvariant(10, !isAnswered, 'the process that claimed a token did not crash');
  let closing = 0;
  world.beforePut = async ({ runId }) => {
    if (runId === crashed.runId) closing += 1;
    runInvariant(10, closing <= mostClosingPuts, `${closing} commits close one claim`);
  };
  must(10, await world.ask(world.caller(), other, hookOf('order')), 'hook_created', 'a hook beside a dead claim');
}

/** @throws a violation where one of two writers loses its chunks, because both read the same end of the stream */
async function twoWritersOfAStream(): Promise<void> {
  const world = await ScriptedWorld.create();
  const { runId, ...scope } = await world.start(world.caller());
  const stream = { scope, runId, name: 'strm_scripted_user' };
  const { streams } = world.judge;
  const write = async (deps: ScriptedWorld['deps'], writer: string): Promise<void> => {
    streams.sent(stream.name, writer, [writer]);
    const written = await writeStream(deps, stream, [writer]);
    if (written.kind === 'answered') streams.acknowledged(stream.name, writer, [writer]);
  };
  let isFirst = true;
  const { devKitStreams } = world.deps;
  const held = overrideMethods(devKitStreams, {
    append: async (...flush) => {
      if (isFirst) await write(world.deps, 'other');
      isFirst = false;
      return devKitStreams.append(...flush);
    },
  });
  await write({ ...world.deps, devKitStreams: held }, 'one');
  const page = await readChunks(world.deps, stream, {});
  if (page.kind === 'refused') throw new Error(page.message);
  streams.pageRead(stream.name, 0, page.value);
  streams.check(stream.name);
}

const sweepMinutes = 20;
/** After two minutes, and after a doubled time each. */
const leastResends = 3;

/** @throws a violation where a run whose messages are lost gets no others, although nothing of it is open */
async function messagesThatAreLost(): Promise<void> {
  const world = await ScriptedWorld.create();
  const by = world.caller();
  const { runId }: RunAddress = await world.start(by);
  for (let minute = 0; minute < sweepMinutes; minute += 1) {
    world.memory.clock.advance(minutes(1));
    await sweepRuns(by, after(by.deps.clock.now(), minutes(1)));
  }
  const resends = world.memory.jobs.devKitMessages.filter(({ run }) => run.runId === runId).length;
  runInvariant(5, resends >= leastResends, `${resends} messages were sent to a run in ${sweepMinutes} minutes`);
}

const delaySeconds = 30;

/** @throws a violation where a message with a delay is not queued, or comes before its time */
async function aMessageWithADelay(): Promise<void> {
  const world = await ScriptedWorld.create();
  const by = world.caller();
  const run = await world.start(by);
  const head = await world.deps.log.head(run);
  if (head?.kind !== 'devkit') throw new Error('the run has no head');
  const queued = (): number =>
    world.memory.jobs.takeDue().filter((job) => job.kind === 'devkit' && job.run.runId === run.runId).length;
  const message = { scope: run, queueName: '__wkf_workflow_order', message: { runId: run.runId }, delay: seconds(delaySeconds) };
  must(5, (await publishDevKitMessage(by, message, head)).kind, 'answered', 'a message with a delay');
  runInvariant(5, queued() === 0, 'a message with a delay came before its time');
  world.memory.clock.advance(seconds(delaySeconds));
  runInvariant(5, queued() === 1, 'a message with a delay did not come at its time');
}

export const devKitScenarios = {
  'two lazy starts of a step': twoLazyStarts,
  'a step that starts after the end of its run': aStepThatStartsAfterTheEnd,
  'a step that is retried later': aStepThatIsRetriedLater,
  'two creations of a wait': twoCreationsOfAWait,
  'a resumption of a disposed hook': aResumptionAfterTheDisposal,
  'a token that is freed later': aTokenThatIsFreedLater,
  'a function with an old fold': aFunctionWithAnOldFold,
  'a claim whose event comes late': aClaimWhoseEventComesLate,
  'a claim without its event': aClaimWithoutItsEvent,
  'two writers of a stream': twoWritersOfAStream,
  'messages of the DevKit that are lost': messagesThatAreLost,
  'a message of the DevKit with a delay': aMessageWithADelay,
} as const;
