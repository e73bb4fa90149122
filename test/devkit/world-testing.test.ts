/** The conformance suite of the Workflow DevKit, once, as its authors publish it. */
import { registerSuite, suite } from './run-suite.ts';

registerSuite();
suite();
