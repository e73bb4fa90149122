/**
 * fast-check for tests that judge mutants: a property is tried a fifteenth as often. What a mutant that is caught needs is one
 * case, and one that lives goes through all of them; a seed that a test gives stays, and so its first cases do.
 */
import fc from 'fast-check';

const partOfRuns = 15;

const assert = (property: fc.IRawProperty<void>, given: fc.Parameters<void> = {}) =>
  fc.assert(property, { seed: 1, ...given, numRuns: Math.ceil((given.numRuns ?? 100) / partOfRuns) });

export default { ...fc, assert };
