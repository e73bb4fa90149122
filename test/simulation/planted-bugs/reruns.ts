/** Planted bugs in reruns of code from a step. */
import type { PlantedBug } from './bug.ts';

const fromStep = 'lib/engine/durable/rerun-from-step.ts';
const createRun = 'lib/service/runs/create-run.ts';
const copies = 'const copied = first.copied === undefined ? [] : await prepareCommits(deps, creation, first.copied);';
const scenario = 'a rerun from a step';

export const rerunBugs: readonly PlantedBug[] = [
  {
    name: 'a rerun from a step copies no log',
    file: createRun,
    find: copies,
    replace: copies.replace('first.copied === undefined ?', 'first.copied === undefined || first.copied.length > 0 ?'),
    scenario,
    within: 1,
  },
  {
    name: 'a rerun from a step keeps the result of that step',
    file: fromStep,
    find: 'const taken = entries.slice(0, end);',
    replace: 'const taken = entries.slice(0, end + 1);',
    scenario,
    within: 1,
  },
  {
    name: 'a rerun from a step writes its head before its log',
    file: createRun,
    find: copies,
    replace: `if (first.copied !== undefined) await putUntilOutcomeKnown(deps, () => deps.log.create(creation));\n  ${copies}`,
    scenario,
    within: 1,
  },
  {
    name: 'a rerun from a step drops results of steps that began before its end',
    file: fromStep,
    find: 'const kept = [...copied(earlier, [], replacements), ...copied(current, laterEnds, replacements)];',
    replace:
      'const kept = [...copied(earlier, [], replacements), ...copied(current.slice(0, 1), [], replacements)];\n  void laterEnds;',
    scenario,
    within: 1,
  },
];
