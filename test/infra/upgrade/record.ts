/**
 * `npm run record-baseline`: writes what the next upgrade must keep. Part of a release, after the upgrade test has passed against the
 * release before, and of nothing else: see "Upgrading" in docs/DEPLOY.md.
 */
import { writeFileSync } from 'node:fs';
import { baselineFile, keptOf, templatesToday } from './baseline.ts';

const kept = Object.fromEntries(Object.entries(templatesToday()).map(([stack, template]) => [stack, keptOf(template)]));
writeFileSync(baselineFile, `${JSON.stringify(kept, null, 2)}\n`);
console.log(`${Object.values(kept).reduce((sum, { Resources }) => sum + Object.keys(Resources).length, 0)} resources recorded`);
