import { defineHelper } from 'helper-gateway/helper';
import { isShort, languages, removeStopwords, wordPattern } from './remove.js';

const word = {
  type: 'string',
  maxLength: 64,
  // Spaces around it are as good as none, for lists written with a space after the comma.
  pattern: `^\\s*${wordPattern}\\s*$`,
  description: 'One word: letters, marks, digits and "_", with apostrophes only inside.',
} as const;

export default defineHelper({
  summary: 'Removes stopwords from a text and leaves everything else as it is.',
  description:
    'A word is a run of letters, marks, digits and "_", with inner apostrophes: "don\'t" is one word, "state-of-the-art" ' +
    'is four. It goes if it is on the list, whatever its case and whichever apostrophe it has; spaces and punctuation ' +
    'around it stay, so two spaces may follow each other. The English list is that of the npm package stopword completed ' +
    'with the Snowball list and contractions. Chinese, Japanese, Thai and Burmese, which are written without spaces, are ' +
    'taken apart into words by the dictionaries of Unicode (ICU).',
  input: {
    type: 'object',
    properties: {
      text: { type: 'string', maxLength: 1_000_000, description: 'Sentence or paragraph to clean.' },
      language: {
        type: 'string',
        enum: languages,
        default: 'eng',
        description:
          'The list to use, by its name in the npm package stopword: ISO 639-3 codes; _123 is digits.',
      },
      keep: {
        type: 'array',
        items: word,
        maxItems: 1000,
        default: [],
        description: 'Single words that stay although they are on the list or in also.',
      },
      also: {
        type: 'array',
        items: word,
        maxItems: 1000,
        default: [],
        description: 'Single words that go although they are not on the list.',
      },
    },
    required: ['text'],
  },
  output: {
    type: 'object',
    properties: { text: { type: 'string', description: 'The text without what was removed.' } },
    required: ['text'],
  },
  examples: [
    { summary: 'A sentence', input: { text: 'The quick brown fox jumps over the lazy dog.' } },
    { summary: 'Without losing the negation', input: { text: 'This is not a test', keep: ['not'] } },
    { summary: 'German', input: { text: 'Das ist ein kleiner Test', language: 'deu' } },
  ],
  inline: isShort,
  handler: ({ text, language, keep, also }) => ({ text: removeStopwords(text, { language, keep, also }) }),
});
