// `memories` rather than `allMemories`; a function that gives a list goes by its name alone.
export const namesPlugin: GraphileConfig.Plugin = {
  name: 'NamesPlugin',
  version: '1.0.0',
  inflection: {
    replace: {
      _allRows(_previous, _options, resource) {
        return this.camelCase(this.pluralize(this._singularizedResourceName(resource)));
      },
      customQueryListField(_previous, _options, details) {
        return this.customQueryField(details);
      },
    },
  },
};
