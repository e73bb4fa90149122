/**
 * Condition node: takes the first branch that holds, else the default branch. A node with only comparisons is evaluated in the
 * commit that makes it ready. A node with a script expression runs on a worker.
 */
import * as z from 'zod';
import type { Outcome } from '../../engine/graph/outcome.ts';
import { errorHandle } from '../../engine/graph/outcome.ts';
import { definitionLimits } from '../../engine/graph/findings.ts';
import type { InspectionWork } from '../../engine/graph/inspection.ts';
import type { NodeInput } from '../../engine/graph/plan.ts';
import { isTemplate } from '../../engine/graph/template.ts';
import { withinConfigPath } from '../../engine/graph/work-limits.ts';
import { inline } from '../../engine/json.ts';
import type { ConfigFinding } from '../config-values.ts';
import type { NodeShape } from '../node-type.ts';
import { expressionSyntaxError } from '../javascript/syntax.ts';
import { graphDefaults } from '../settings.ts';
import { type Branch, branch, isTaken } from './branch.ts';
import { compileRegex } from './operators.ts';

export const maxBranches = 100;

const schema = z.object({
  branches: z.array(branch).min(1, 'a condition needs at least one branch').max(maxBranches),
  defaultBranch: z.string().min(1).max(128).default('default'),
});
type Config = z.output<typeof schema>;

export const condition: NodeShape<typeof schema> = {
  type: 'condition',
  defaults: { ...graphDefaults, isIdempotent: true },
  announcesStart: false,
  schema,
  handles: ({ branches, defaultBranch }) => [...branches.map(({ id }) => id), defaultBranch, errorHandle],
  code: ({ branches }) =>
    branches.flatMap(({ conditions }, branchIndex) =>
      conditions.flatMap((one, index) =>
        'expression' in one ? [{ path: ['branches', branchIndex, 'conditions', index, 'expression'], code: one.expression }] : [],
      ),
    ),
  check: (config, work) => [...idFindings(config), ...config.branches.flatMap((each, at) => branchFindings(each, at, work))],
  decider: (config) => (expressionsOf(config).length > 0 ? undefined : (input) => chooseBranch(config, input, () => false)),
};

/** All script expressions, in order. */
export const expressionsOf = ({ branches }: Config): readonly string[] =>
  branches.flatMap(({ conditions }) => conditions.flatMap((one) => ('expression' in one ? [one.expression] : [])));

export function chooseBranch(config: Config, input: NodeInput, isTrue: (expression: string) => boolean): Outcome {
  const taken = config.branches.find((each, at) =>
    withinConfigPath('branches', () => withinConfigPath(at, () => isTaken(each, input.context, isTrue))),
  );
  const { id, label } = taken ?? { id: config.defaultBranch, label: config.defaultBranch };
  return { kind: 'finished', output: inline({ matched: id, label }), handle: id };
}

const idFindings = ({ branches, defaultBranch }: Config): readonly ConfigFinding[] => {
  const taken = new Set([defaultBranch, errorHandle]);
  return branches.flatMap(({ id }, index) => {
    const isFree = !taken.has(id);
    taken.add(id);
    if (isFree) return [];
    return [{ code: 'config_invalid', path: ['branches', index, 'id'], message: `another handle has the name ${id}` }];
  });
};

const branchFindings = ({ conditions }: Branch, at: number, work: InspectionWork): readonly ConfigFinding[] =>
  conditions.flatMap((one, index): readonly ConfigFinding[] => {
    const path = ['branches', at, 'conditions', index];
    if ('expression' in one) {
      const error = expressionSyntaxError(one.expression);
      return error === undefined ? [] : [{ code: 'code_invalid', path: [...path, 'expression'], message: error }];
    }
    if (one.operator !== 'matches_regex' || isTemplate(one.rightValue)) return [];
    const admission = typeof one.rightValue === 'string' ? work.pattern(one.rightValue) : 'taken';
    if (admission === 'refused')
      return [{ code: 'definition_too_large', path: [...path, 'rightValue'], message: tooManyPatterns }];
    if (admission === 'skipped') return [];
    const compiled = typeof one.rightValue === 'string' ? compileRegex(one.rightValue) : invalidPattern;
    return 'regex' in compiled ? [] : [{ code: compiled.code, path: [...path, 'rightValue'], message: compiled.message }];
  });

const tooManyPatterns = `a workflow has at most ${definitionLimits.patterns} regular expressions, with ${definitionLimits.patternCharacters} characters in total`;

const invalidPattern = { code: 'config_invalid', message: 'a pattern must be a string' } as const;
