/** Bugs of runs of the Workflow DevKit. */
import type { PlantedBug } from './bug.ts';

type DevKitBug = Omit<PlantedBug, 'kind' | 'options'>;

const decide = 'lib/engine/devkit/decide.ts';
const nextCheckFile = 'lib/engine/devkit/next-check.ts';
const createEvent = 'lib/service/kinds/devkit/create-event.ts';
const hookTokens = 'lib/service/kinds/devkit/hook-tokens.ts';
const latestCommits = 'lib/service/run-log/latest-commits.ts';
const readEvents = 'lib/service/kinds/devkit/read-events.ts';
const eventResult = 'lib/service/kinds/devkit/event-result.ts';
const deliver = 'lib/service/kinds/devkit/deliver-message.ts';
const recover = 'lib/service/kinds/devkit/recover-devkit-run.ts';
const record = 'lib/service/kinds/devkit/record-decided.ts';
const together = 'lib/service/kinds/devkit/record-together.ts';
const streams = 'lib/service/kinds/devkit/streams.ts';
const publish = 'lib/service/kinds/devkit/publish-devkit-message.ts';

const bugs: readonly DevKitBug[] = [
  {
    name: 'a step of the DevKit that has ended can end again',
    file: decide,
    find: "if (step.status === 'completed' || step.status === 'failed') return conflict",
    replace: "if (step.status === 'failed') return conflict",
    within: 20,
  },
  {
    name: 'two lazy starts of the DevKit create one step twice',
    file: decide,
    find: 'if (step !== undefined) return conflict(`step ${id} is created already`);',
    replace: 'if (step !== undefined && !isLazy) return conflict(`step ${id} is created already`);',
    scenario: 'two lazy starts of a step',
    within: 1,
  },
  {
    name: 'an ended run of the DevKit accepts another end',
    file: decide,
    find: "return isTerminalRunEvent(event) || creates || event === 'attr_set' ? conflict(ended) : undefined;",
    replace: "return creates || event === 'attr_set' ? conflict(ended) : undefined;",
    within: 40,
  },
  {
    name: 'a step of an ended run of the DevKit can start',
    file: decide,
    find: "if (isTerminal(state.progress) && step.status !== 'running')",
    replace: "if (isTerminal(state.progress) && step.status === 'completed')",
    scenario: 'a step that starts after the end of its run',
    within: 1,
  },
  {
    name: 'a wait of the DevKit is created twice',
    file: decide,
    find: 'if (wait !== undefined) return conflict(`wait ${id} exists already`);',
    replace: '',
    scenario: 'two creations of a wait',
    within: 1,
  },
  {
    name: 'a repeated resumption of a hook is recorded twice',
    file: decide,
    find: "if (request.event === 'hook_received' && known !== undefined) {",
    replace: "if (request.event === 'hook_received' && known !== undefined && known.hookId !== id) {",
    within: 20,
  },
  {
    name: 'a disposed hook can be resumed',
    file: decide,
    find: 'if (hook.isDisposed === true)\n',
    replace: "if (hook.isDisposed === true && request.event === 'hook_disposed')\n",
    scenario: 'a resumption of a disposed hook',
    within: 1,
  },
  {
    name: 'a hook that was refused for its token is created later',
    file: decide,
    find: "if (refusedBy !== undefined) return { kind: 'known', eventId: refusedBy };",
    replace: '',
    scenario: 'a token that is freed later',
    within: 1,
  },
  {
    name: 'a step of the DevKit that is retried later can start at once',
    file: decide,
    find: "if (event !== 'step_started' || step.retryAfter === undefined || step.retryAfter <= now) return undefined;",
    replace: "if (event !== 'step_started' || step.retryAfter === undefined || step.retryAfter > now) return undefined;",
    scenario: 'a step that is retried later',
    within: 1,
  },
  {
    name: 'each hook gets the token that it asks for',
    file: hookTokens,
    find: "if (claimed.kind === 'taken') return { request: { ...request, tokenOwner: claimed.by.runId } };",
    replace: "if (claimed.kind === 'taken') return { request };",
    within: 20,
  },
  {
    name: 'a claim of a token counts as dead before its event can come',
    file: hookTokens,
    find: "if (claim.commitNo <= state.asOf) return 'dead';",
    replace: "if (looks > 0) return 'dead';",
    scenario: 'a claim whose event comes late',
    within: 1,
  },
  {
    name: 'a claim without its event is never dead',
    file: hookTokens,
    find: "if (claim.commitNo <= state.asOf) return 'dead';\n",
    replace: '',
    scenario: 'a claim without its event',
    within: 1,
  },
  {
    name: 'a hook that lost its commit number keeps its claim',
    file: hookTokens,
    find: 'commitNo === undefined || commitNo === nextCommitOf(state);',
    replace: 'commitNo === undefined || state.asOf !== 0;',
    scenario: 'a claim whose event comes late',
    within: 1,
  },
  {
    name: 'the claim of an ended run keeps its token',
    file: hookTokens,
    find: "if (!isDevKit(fold) || isTerminal(fold.state.progress)) return 'dead';",
    replace: "if (!isDevKit(fold)) return 'dead';",
    // The end frees the tokens too.
    and: [
      {
        file: createEvent,
        find: "if (decided.kind === 'accepted') await releaseTokens(world, fold, request);",
        replace: "if (request.event === 'hook_disposed') await releaseTokens(world, fold, request);",
      },
    ],
    within: 20,
  },
  {
    name: 'a disposed hook keeps its token',
    file: hookTokens,
    find: "if (hook !== undefined) return hook.isDisposed === true ? 'dead' : 'live';",
    replace: "if (hook !== undefined) return 'live';",
    // A crash leaves the claim of a disposed hook.
    and: [
      {
        file: createEvent,
        find: "if (decided.kind === 'accepted') await releaseTokens(world, fold, request);",
        replace: "if (request.event !== 'hook_disposed') await releaseTokens(world, fold, request);",
      },
    ],
    scenario: 'a token that is freed later',
    within: 1,
  },
  {
    name: 'a refusal of the DevKit is decided on an old fold',
    file: record,
    find: "if (appended.kind === 'nothing' && !isFresh && (await readTail(deps, fold)) > 0)",
    replace: "if (appended.kind === 'nothing' && !isFresh && (await readTail(deps, fold)) > 1_000)",
    scenario: 'a function with an old fold',
    within: 1,
  },
  {
    name: 'a cached fold of the DevKit is believed to be new',
    file: createEvent,
    find: 'withRun(world, run, !isFirst, (fold, isFresh) => recordIn(world, fold, call, isFresh));',
    replace: 'withRun(world, run, !isFirst, (fold) => recordIn(world, fold, call, true));',
    scenario: 'a function with an old fold',
    within: 1,
  },
  {
    name: 'requests that share a commit are decided on an old fold',
    file: together,
    find: '(fold, isFresh) => recordIn(world, fold, calls, isFresh)',
    replace: '(fold) => recordIn(world, fold, calls, true)',
    scenario: 'a function with an old fold',
    within: 1,
  },
  {
    name: 'requests that share a commit all get the answer of the first one',
    file: together,
    find: 'const each = decided[index];',
    replace: 'const each = decided[0];',
    within: 20,
  },
  {
    name: 'of the requests that share a commit only the first is recorded',
    file: together,
    find: 'calls.map(({ request }) => decideRequest(draft, request));',
    replace: "calls.map(({ request }, index) => index === 0 ? decideRequest(draft, request) : { kind: 'known' });",
    within: 20,
  },
  {
    name: 'a request that waits is answered before its commit',
    file: together,
    find: 'if (waiting !== undefined) return void waiting.push({ call, resolve, reject });',
    replace:
      "if (waiting !== undefined) { waiting.push({ call, resolve, reject }); return void resolve({ kind: 'answered', value: {} }); }",
    within: 40,
  },
  {
    name: 'a page of events has a hole',
    file: readEvents,
    find: 'const isWanted = ({ id }: PlacedEvent): boolean => id > after && id <= through;',
    replace: 'const isWanted = ({ id }: PlacedEvent): boolean => id > after + 1 && id <= through;',
    within: 10,
  },
  {
    name: 'a delta contains only the own event',
    file: latestCommits,
    find: 'if (oldest === undefined || oldest.commit.firstEventId > position + 1) return undefined;',
    replace: 'if (oldest === undefined) return undefined;',
    within: 20,
  },
  {
    name: 'a delta lacks what another function committed in between',
    file: 'lib/service/run-log/read-run-fold.ts',
    find: 'onCommit(commit);\n    advanceFold(fold, commit);',
    replace: 'onCommit(commit);\n    applyCommit(fold.state, commit);',
    scenario: 'a function with an old fold',
    within: 1,
  },
  {
    name: 'events are read from an old fold',
    file: 'lib/service/kinds/devkit/world.ts',
    find: 'return (await withRun(world, run, true, use)) ?? noRun;',
    replace: 'return (await withRun(world, run, false, use)) ?? noRun;',
    scenario: 'a function with an old fold',
    within: 1,
  },
  {
    name: 'a repeated resumption is answered with another event',
    file: eventResult,
    find: 'return events.find((placed) => placed.id === id);',
    replace: 'return events.find((placed) => placed.id >= id - 1);',
    within: 20,
  },
  {
    name: 'the sweep never sends a lost message of the DevKit again',
    file: recover,
    find: 'if (nextResendAt(state, lastHeartbeat) > now) return checkedAgain(lastHeartbeat);',
    replace: 'if (nextResendAt(state, lastHeartbeat) > 0) return checkedAgain(lastHeartbeat);',
    within: 60,
  },
  {
    name: 'the sweep sends a message of the DevKit to a queue without the namespace of the app',
    file: 'lib/service/kinds/devkit/jobs.ts',
    find: 'queueName: workflowQueue(workflow.name, queueNamespace),',
    replace: 'queueName: workflowQueue(workflow.name),',
    within: 60,
  },
  {
    name: 'the sweep plans its checks of a DevKit run by its open nodes alone',
    file: nextCheckFile,
    find: 'if (state.devkit === undefined) return nextCheck(state, deadlineAt, now);',
    replace: 'if (now > 0) return nextCheck(state, deadlineAt, now);',
    scenario: 'messages of the DevKit that are lost',
    within: 1,
  },
  {
    name: 'the sweep does not check waits of the DevKit',
    file: nextCheckFile,
    find: "if (node.status === 'waiting') return node.for === 'time' ? [after(node.wakeAt, timerGrace)] : [];",
    replace: "if (node.status === 'waiting') return [];",
    within: 100,
  },
  {
    name: 'a message that the application asks for again is dropped',
    file: deliver,
    find: "if (typeof requestedSeconds === 'number' && requestedSeconds >= 0) {",
    replace: "if (typeof requestedSeconds === 'number' && requestedSeconds < 0) {",
    within: 20,
    faultProfile: 'none',
  },
  {
    name: 'a message of the DevKit loses its delay',
    file: publish,
    find: 'await sendMessage(deps, job, delay);',
    replace: 'if (delay === undefined) await sendMessage(deps, job, delay);',
    within: 1,
    scenario: 'a message of the DevKit with a delay',
  },
  {
    name: 'a message of a start does not create its run',
    file: publish,
    find: 'if (!isJsonObject(runInput)) return noRun;',
    replace: 'if (runName !== undefined) return noRun;',
    within: 20,
  },
  {
    name: 'two flushes of a stream take one index, and one of them is lost',
    file: streams,
    find: 'if (await deps.devKitStreams.append(stream, flush, expiresAt)) return answer({});',
    replace: 'await deps.devKitStreams.append(stream, flush, expiresAt); return answer({});',
    scenario: 'two writers of a stream',
    within: 1,
  },
  {
    name: 'a large flush of a stream has no chunks',
    file: streams,
    find: "const value = 'ref' in chunks ? await deps.blobs.get(scope, chunks.ref.slice('blob:'.length)) : chunks.value;",
    replace: "const value = 'ref' in chunks ? [] : chunks.value;",
    within: 20,
  },
  {
    name: 'a snapshot of the DevKit loses resumptions',
    file: 'lib/engine/devkit/state.ts',
    find: 'for (const resumption of resumptions) state.resumptions.set(resumption.resumeId, resumption);',
    replace: 'for (const resumption of resumptions.slice(1)) state.resumptions.set(resumption.resumeId, resumption);',
    within: 20,
  },
];

/** Clocks are right, because claims of tokens are judged by them. */
export const devKitBugs: readonly PlantedBug[] = bugs.map((bug) => ({ faultProfile: 'right clocks', ...bug, kind: 'devkit' }));
