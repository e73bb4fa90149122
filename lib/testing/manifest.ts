/** The test's workflows as the manifest of one deployment. */
import { defined } from '../base/defined.ts';
import { deploymentId } from '../engine/ids.ts';
import type { Manifest } from '../ports/deployments.ts';
import { programPath } from '../ports/programs.ts';
import type { AnyWorkflow } from './workflow-fixture.ts';

export const testDeploymentId = deploymentId('under-test');

export const manifestOf = (workflows: readonly AnyWorkflow[]): Manifest => ({
  deploymentId: testDeploymentId,
  specVersion: 1,
  runtime: 'code',
  workflows: workflows.map(({ spec: { name, version } }) => defined({ name, version })),
  steps: [],
  files: [{ path: programPath, sha256: '0'.repeat(64), bytes: 1 }],
  artifact: { sha256: '0'.repeat(64), bytes: 1 },
});
