/**
 * Zod compiles the schemas of objects with `new Function`, which the policy of the page forbids and the browser reports. This module is
 * imported before each module that makes a schema.
 */
import * as z from 'zod';

z.config({ jitless: true });
