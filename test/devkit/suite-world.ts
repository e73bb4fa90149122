/** The module that the conformance suite's server loads as its World. It is the package's own entry, without a build. */
export { createWorld } from '../../lib/world/index.ts';
