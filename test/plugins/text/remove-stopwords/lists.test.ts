import { expect } from 'chai';
import { eng } from 'stopword';
import plugin from '../../../../plugins/text/remove-stopwords/index.js';
import { languages, stopwordsOf } from '../../../../plugins/text/remove-stopwords/lists.js';
import { remove } from './remove.js';

describe('text/remove-stopwords, its lists', () => {
  it('has every list of the stopword package as a language', () => {
    expect(languages).to.include.members(['eng', 'deu', 'fra', 'spa', 'porBr', 'zho', '_123']);
    expect(languages).not.to.include('removeStopwords');
    expect(plugin.input.properties.language.enum).to.equal(languages);
  });

  it('has words in every list', () => {
    for (const language of languages) expect(stopwordsOf(language).size, language).to.be.above(20);
  });

  it('removes every word of every list', () => {
    for (const language of languages) {
      const text = [...stopwordsOf(language)].join('\n');
      expect(remove(text, { language }).trim(), language).to.equal('');
    }
  });

  it('completes the English list of the package', () => {
    expect([...stopwordsOf('eng')]).to.include.members(eng);
    const missing = "she not no so its when will us just off down why because shan't you're who's";
    expect([...stopwordsOf('eng')]).to.include.members(missing.split(' '));
  });

  it('has the English completion for English only', () => {
    expect(remove('she is not here', { language: 'deu' })).to.equal('she is not here');
  });

  it('removes words of other scripts', () => {
    expect(remove('Я не знаю', { language: 'rus' })).to.equal('  знаю');
    expect(remove('Das ist EIN Test', { language: 'deu' })).to.equal('   Test');
    expect(remove('هذا كتاب', { language: 'ara' })).to.equal(' كتاب');
  });

  it('finds words in scripts without spaces', () => {
    expect(remove('我们的研究，方法是有效的', { language: 'zho' })).to.equal('我们研究，方法有效');
    expect(remove('これは私の本', { language: 'jpn' })).to.equal('私本');
  });

  it('leaves other scripts whole in such a language', () => {
    expect(remove("don't 😀 x_y", { language: 'zho' })).to.equal("don't 😀 x_y");
  });
});
