/**
 * `npm run pack -- <directory> <deployment id>`: creates the archive and the manifest of a deployment, without any network request.
 * The directory's `manifest.json` names the workflows and steps; all other files go into the archive.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { packDirectory } from '../lib/cli/actions/artifact.ts';

const [folder, deploymentId, ...more] = process.argv.slice(2);
if (folder === undefined || deploymentId === undefined || more.length > 0) {
  console.error('usage: npm run pack -- <directory> <deployment id>');
  process.exit(2);
}
try {
  const { manifest, archive } = await packDirectory(process.cwd(), folder, { deploymentId });
  const target = join('.stepwell', 'dist', deploymentId);
  mkdirSync(target, { recursive: true });
  const files = { manifest: join(target, 'manifest.json'), artifact: join(target, 'artifact.tgz') };
  writeFileSync(files.manifest, `${JSON.stringify(manifest, null, 2)}\n`);
  writeFileSync(files.artifact, archive);
  console.log(JSON.stringify({ deploymentId, ...files, bytes: archive.byteLength }));
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error));
  process.exit(1);
}
