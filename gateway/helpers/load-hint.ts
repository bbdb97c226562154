import { isTypeScript } from '../../pool/load-typescript.js';
import { writtenForm } from '../../schemas/declared-helper.js';

const ownModules = ['helper-gateway/helper', 'helper-gateway/testing'];

/** What to write instead, after the message of an error that a plugin's module failed with; empty where that is not known. */
export function loadHint(error: Error): string {
  for (const hint of [typeHint, packageHint, commonJsHint, jsonHint, nameHint, awaitHint]) {
    const told = hint(error);
    if (told !== undefined) return `; ${told}`;
  }
  return '';
}

/** A type that is imported as if it were a value vanishes from where it is exported, and not from where it is imported. */
function typeHint({ message, stack = '' }: Error): string | undefined {
  const [, name] = /does not provide an export named '([^']+)'/.exec(message) ?? [];
  return name !== undefined && isTypeScript(stack.split('\n')[0]?.replace(/:\d+$/, '') ?? '')
    ? `if ${name} is a type, write "import type"`
    : undefined;
}

function packageHint({ message }: Error): string | undefined {
  // On Node before 22.15 what CommonJS requires cannot be given another place.
  if (/^Cannot find module 'helper-gateway\//.test(message)) {
    return 'require cannot find the gateway here: export a plain object (module.exports = { summary, input, handler }), or write an ES module';
  }
  const [, name] = /^Cannot find package '([^']+)' imported from/.exec(message) ?? [];
  if (name === undefined) return undefined;
  return name === 'helper-gateway'
    ? `of the gateway there are ${ownModules.map((each) => `"${each}"`).join(' and ')}`
    : `install it in the folder of plugins: npm install ${name}`;
}

function commonJsHint({ message }: Error): string | undefined {
  const [, name] = /^(module|exports|require|__dirname|__filename) is not defined/.exec(message) ?? [];
  if (name === 'module' || name === 'exports') return `write "${writtenForm}", or rename the file to .cjs`;
  return name?.startsWith('__') ? `write "import.meta.${name.slice(2)}"` : undefined;
}

function jsonHint({ message }: Error): string | undefined {
  return /needs an import attribute of "?type/.test(message)
    ? `write "import … from '….json' with { type: 'json' }"`
    : undefined;
}

/** What the gateway gives and was not imported. */
function nameHint({ message }: Error): string | undefined {
  const [, name] =
    /^(defineHelper|invalidInput|fail|pictureOutput|pictureOutputRules) is not defined$/.exec(message) ?? [];
  return name && `write "import { ${name} } from '${ownModules[0]}'"`;
}

function awaitHint({ message }: Error): string | undefined {
  return / did not settle within /.test(message)
    ? 'something that it awaits at its top never comes'
    : undefined;
}
