/** `npm run proof` writes docs/PROOF.md from the reports that are there. */
import { proofFile, writeProof } from './write-proof.ts';

writeProof();
console.log(`${proofFile} is written`);
