/**
 * Writes docs/PROOF.md from the stored reports. `npm run proof` calls it, and so does each command at its end that stores a
 * report.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { countSchema } from '../e2e/kills/count.ts';
import { reportSchema as mutantsSchema } from '../mutants/report.ts';
import { regressionSeeds } from './regression-seeds.ts';
import { readBugReport } from './planted-bugs/report.ts';
import { proofDocument } from './proof-document.ts';
import { devKitSeedsSchema, foundSchema, matrixSchema, readReport, seedsSchema } from './reports.ts';

export const proofFile = join(import.meta.dirname, '../../docs/PROOF.md');

export const currentProof = (): string =>
  proofDocument({
    seeds: readReport('seeds', seedsSchema),
    devKit: readReport('devkit-seeds', devKitSeedsSchema),
    matrix: readReport('crash-matrix', matrixSchema),
    pairs: readReport('crash-pairs', matrixSchema),
    bugs: readBugReport(),
    kills: readReport('kills', countSchema),
    mutants: readReport('mutants', mutantsSchema),
    found: readReport('found', foundSchema) ?? [],
    regressionSeeds,
  });

export const writeProof = (): void => writeFileSync(proofFile, currentProof());
