import { mkdirSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import * as z from 'zod';
import type { Action } from '../command.ts';
import { deploymentId, file, optionsIn } from '../given.ts';
import { many } from '../words.ts';
import { type BuiltProject, buildProject } from './build-project.ts';
import { projectOf } from './project.ts';
import { labelOf } from './workflow-label.ts';

const shape = z.object({ out: file.optional(), deploymentId: deploymentId.optional() });

export const build: Action = async (given, shell) => {
  const { out, deploymentId: wantedId } = optionsIn(given, shape);
  const project = await projectOf(shell);
  const built = await buildProject(shell, project, wantedId);
  const id = built.manifest.deploymentId;
  const folder = out ?? join(project.root, '.stepwell', 'build', id);
  mkdirSync(folder, { recursive: true });
  const files = { manifest: join(folder, 'manifest.json'), artifact: join(folder, 'artifact.tgz') };
  writeFileSync(files.manifest, `${JSON.stringify(built.manifest, null, 2)}\n`);
  writeFileSync(files.artifact, built.archive);
  const { workflows, sources, moduleBytes } = built;
  const text = [
    ...workflows.map((each) => `${labelOf(each)}  ${shell.paint('dim', each.file)}`),
    sizesOf(built),
    relative(shell.cwd, files.artifact),
  ];
  const data = {
    deploymentId: id,
    workflows,
    sources: sources.length,
    moduleBytes,
    artifactBytes: built.archive.byteLength,
    ...files,
  };
  return { data, text: text.join('\n') };
};

export const sizesOf = ({ manifest, sources, moduleBytes, archive }: BuiltProject): string =>
  `${manifest.deploymentId}: ${many(sources.length, 'file')} in one of ${moduleBytes} bytes, ${archive.byteLength} packed`;
