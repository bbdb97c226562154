/**
 * For `node --import …/register.js --test`: lets tests import plugins in TypeScript and `helper-gateway/…` by name, without
 * node_modules, as the gateway itself does.
 */
import { hookPlugins } from '../../pool/plugin-hooks.js';

hookPlugins(import.meta.resolve('helper-gateway/helper'));
