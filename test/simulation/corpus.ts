/** All fixed workflows, by group. */
import { allTopologies } from '../conformance/topologies/all.ts';
import type { FixedWorkflow } from './crash-run.ts';
import { fixedCode, fixedCodeExamples } from './fixed-code.ts';
import { fixedExamples } from './fixed-examples.ts';
import { fixedTopology, packedTopology } from './fixed-topologies.ts';
import { longWaits } from './long-wait-scenarios.ts';

export const corpus: Readonly<Record<string, readonly FixedWorkflow[]>> = {
  topologies: [...allTopologies.map(fixedTopology), ...longWaits],
  'topologies with packs': allTopologies.map(packedTopology),
  'examples of graphs': fixedExamples,
  'workflows of code': fixedCode,
  'examples of code': await fixedCodeExamples(),
};
