/** `npm run build`: builds the published packages `stepwell`, `stepwell-cli` and `stepwell-cdk` (default: in dist/packages). */
import { basename, join } from 'node:path';
import { buildCommandLine } from './packages/command-line.ts';
import { buildConstruct, buildLibrary } from './packages/libraries.ts';
import { root } from './packages/manifest.ts';

const builders: Readonly<Record<string, (folder: string) => Promise<void>>> = {
  stepwell: buildLibrary,
  'stepwell-cli': buildCommandLine,
  'stepwell-cdk': buildConstruct,
};

// bin/check-node.mjs imports this file, so it is not the main module.
if (process.argv[1] !== undefined && basename(process.argv[1]) === 'build-packages.ts') {
  const [target = join(root, 'dist', 'packages'), ...more] = process.argv.slice(2);
  if (more.length > 0) {
    console.error('usage: npm run build -- [folder]');
    process.exit(2);
  }
  for (const [name, build] of Object.entries(builders)) {
    const folder = join(target, name);
    await build(folder);
    console.log(folder);
  }
}
