/** Bugs in the start of a run. */
import type { PlantedBug } from './bug.ts';

const beginRun = 'lib/service/begin-run.ts';
const control = 'lib/memory/control.ts';

export const inStart: readonly PlantedBug[] = [
  {
    name: 'a start is answered before its run exists',
    file: beginRun,
    find: 'if (head !== undefined) return answerFor(head, standing, isReplay);',
    replace:
      "if (head === undefined) return { kind: 'started', runId: standing.runId, deploymentId: null, isReplay };\n    return answerFor(head, standing, isReplay);",
    within: 60,
  },
  {
    name: 'each request writes a run under its own name',
    file: beginRun,
    find: 'nonce: nonce(standing.owner),',
    replace: 'nonce: deps.ids.nonce(),',
    within: 40,
  },
  {
    name: 'a key is taken though another has it',
    file: control,
    find: "if (standing !== undefined && standing.reservedAt >= notBefore) return { kind: 'taken', by: standing };",
    replace: '',
    within: 40,
  },
  {
    name: 'a key is forgotten too early',
    file: beginRun,
    find: 'notBefore: instant(now - rememberedMs),',
    replace: 'notBefore: now,',
    within: 40,
  },
  {
    name: 'a start that had trouble gives its key back, though its run may exist',
    file: beginRun,
    find: 'const made = await createHead(decider, request, standing, resolved, now);',
    replace:
      'const made = await createHead(decider, request, standing, resolved, now).catch(async (trouble: unknown) => {\n    await release();\n    throw trouble;\n  });',
    scene: 'a start that nobody is told of',
    within: 1,
  },
  {
    name: 'a repetition runs under an id of its own',
    file: beginRun,
    find: "const standing = reserved.kind === 'taken' ? reserved.by : own;",
    replace: "const standing = reserved.kind === 'taken' ? { ...reserved.by, runId: own.runId } : own;",
    within: 40,
  },
  {
    name: 'a run is not to be looked at when it begins',
    file: beginRun,
    find: 'await markFirstLook(deps, headOf(creation));',
    replace: 'void markFirstLook;',
    within: 60,
  },
  {
    name: 'a run is to be looked at only once it exists',
    file: beginRun,
    find: 'await markFirstLook(deps, headOf(creation));\n  await leaveDeadlineRecheck(deps, creation, startLeavesRecheckWithin);\n  const result = await untilDefinite(deps, () => deps.log.create(creation));',
    replace:
      'const result = await untilDefinite(deps, () => deps.log.create(creation));\n  await markFirstLook(deps, headOf(creation));\n  await leaveDeadlineRecheck(deps, creation, startLeavesRecheckWithin);',
    within: 60,
  },
  {
    name: 'the first jobs of a run are sent to nobody',
    file: beginRun,
    find: 'await carryOut(decider.deps, fold, creation.commit);',
    replace: 'void carryOut;',
    within: 10,
    weather: 'calm',
    options: { withoutSweep: true },
  },
  {
    name: 'a start in one environment finds the run of another',
    file: control,
    find: 'JSON.stringify([scopeName(scope), endpoint, key]);',
    replace: 'JSON.stringify([endpoint, key]);',
    within: 60,
  },
  {
    name: 'a key that was used for one start is taken for another',
    file: beginRun,
    find: "if (standing.bodyHash !== request.bodyHash) return { kind: 'idempotency_conflict' };",
    replace: '',
    within: 60,
  },
];
