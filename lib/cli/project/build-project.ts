/** A project of code workflows, built: one module, what each workflow is made from, and the manifest. */
import { createDeploymentBody } from '../../api/schemas/deployments.ts';
import { packArchive } from '../../artifact/pack-archive.ts';
import { programPath } from '../../ports/programs.ts';
import { type Artifact, validateManifest, deploymentIdLength } from '../deployments/artifact.ts';
import { bundleWorkflows } from './bundle-workflows.ts';
import type { ImportContext } from './import-in-thread.ts';
import type { Project } from './project.ts';
import { type SourceWorkflow, readWorkflows } from './read-workflows.ts';
import { digestPath } from './workflow-label.ts';
import { workflowFiles } from './workflow-files.ts';

export interface BuiltProject extends Artifact {
  readonly workflows: readonly SourceWorkflow[];
  readonly moduleBytes: number;
  /** files that went into the module, by their full paths */
  readonly sources: readonly string[];
}

/** @throws CliError */
export async function buildProject(
  context: ImportContext,
  project: Project,
  requestedId: string | undefined,
): Promise<BuiltProject> {
  const { module, digestOf, sources } = await bundleWorkflows(project.root, workflowFiles(project));
  const workflows = await readWorkflows(context, module);
  const digests = workflows.map((each) => [digestPath(each), Buffer.from(`${digestOf(each.file)}\n`)] as const);
  const { archive, ...packed } = await packArchive(new Map([[programPath, module], ...digests]));
  const manifest = validateManifest(
    createDeploymentBody,
    {
      deploymentId: requestedId ?? packed.artifact.sha256.slice(0, deploymentIdLength),
      specVersion: 1,
      runtime: 'code',
      workflows: workflows.map(({ file: _file, ...named }) => named),
      ...packed,
    },
    project.root,
  );
  return { manifest, archive: new Uint8Array(archive), workflows, moduleBytes: module.byteLength, sources };
}
