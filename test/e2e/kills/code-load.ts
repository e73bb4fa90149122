/** The code workflows of the load: random ones like the simulator's, with times that fit a real clock. */
import { Prng } from '../../simulation/prng.ts';
import { type CodeWorkflow, leafCode, randomCode } from '../../simulation/random-code.ts';

type Part = CodeWorkflow['part'];

/** Scales simulated times: a minute of a step is half a second here, and a sleep lasts at most two minutes. */
function brisk(part: Part): Part {
  switch (part.kind) {
    case 'step':
      return { ...part, ms: Math.ceil(part.ms / 120) + 1 };
    case 'sleep':
      return { ...part, ms: Math.min(part.ms, 120_000) };
    case 'signal':
      return { ...part, ms: 20_000 };
    case 'seq':
    case 'all':
    case 'allSettled':
    case 'race':
    case 'any':
      return { ...part, parts: part.parts.map(brisk) };
    default:
      return part;
  }
}

/** As many as `project/workflows/code-load.ts` exports. */
const count = 24;
const seed = 20_261;

const prng = new Prng(seed);
export const codeWorkflows: readonly CodeWorkflow[] = Array.from({ length: count }, (_one, at) => {
  const drawn = randomCode(prng, `kill-code-${at}`, { isBrisk: false });
  return { ...drawn, part: brisk(drawn.part) };
});
export const leafOfCode: CodeWorkflow = { ...leafCode, part: brisk(leafCode.part) };

/** The workflow of a stored code run; undefined for graphs. */
export const codeOf = (run: { readonly kind: string; readonly workflowName: string } | undefined): CodeWorkflow | undefined =>
  run?.kind === 'code' ? [leafOfCode, ...codeWorkflows].find(({ name }) => name === run.workflowName) : undefined;
