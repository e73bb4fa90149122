/** A deployment for upload: a manifest and its archive. */
import { type PackedArchive, packArchive } from '../../lib/artifact/pack-archive.ts';
import { deploymentId } from '../../lib/engine/ids.ts';
import { bundlePaths } from '../../lib/ports/bundles.ts';
import { type Manifest, defaultApp } from '../../lib/ports/deployments.ts';

const answer = `export const POST = () => Response.json({ run: { status: 'completed' } });\n`;

interface Sent {
  readonly manifest: Manifest;
  readonly archive: Uint8Array;
}

/** @param change changes the manifest after it was written, so that it no longer matches */
export const packedDeployment = async (
  id: string,
  {
    workflows = ['hello'],
    files = { [bundlePaths.workflow]: answer },
    change = {},
  }: { workflows?: readonly string[]; files?: Readonly<Record<string, string>>; change?: Partial<Manifest> } = {},
): Promise<Sent> => {
  const packed: PackedArchive = await packArchive(
    new Map(Object.entries(files).map(([path, text]) => [path, Buffer.from(text)])),
  );
  const manifest: Manifest = {
    deploymentId: deploymentId(id),
    specVersion: 1,
    app: defaultApp,
    runtime: 'bundle',
    workflows: workflows.map((name) => ({ name })),
    steps: [],
    files: packed.files,
    artifact: packed.artifact,
    ...change,
  };
  return { manifest, archive: packed.archive };
};
